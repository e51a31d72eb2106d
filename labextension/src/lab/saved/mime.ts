/** What is read of a bundle beside the capture itself. */

const VIEW = "application/vnd.jupyter.widget-view+json";
const ID = /^[\w-]{1,100}$/;

/** The id of the widget that once showed it; "" where the bundle names none, or something else. */
export function modelIdOf({ data }: { data: Readonly<Record<string, unknown>> }): string {
  const view = data[VIEW];
  if (typeof view !== "object" || view === null) return "";
  const id: unknown = (view as Record<string, unknown>).model_id;
  return typeof id === "string" && ID.test(id) ? id : "";
}
