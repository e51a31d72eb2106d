/** The commands on captures: in the palette on the one that is shown, in its menu on any. */

import type { CommandRegistry } from "@lumino/commands";
import { Menu } from "@lumino/widgets";
import { Commands } from "../commands/commands";
import { FORMATS } from "../commands/export";
import { trans } from "../i18n";
import type { Actions } from "./actions";
import type { InspectorPanel } from "./panel";

type Args = { capture?: string };
const name = (what: string) => `autograd-inspector:${what}`;

/** In the order of the menu; "" separates. */
const MENU = ["open-in-tab", "compare-with", "", "pin-capture", "rename-capture"];

/** Returns the names of those that make sense without a menu. */
export function addCommands(
  commands: CommandRegistry,
  panel: InspectorPanel,
  actions: Actions,
): string[] {
  const ids: string[] = [];
  const description = trans.__("The id of a capture; by default the one shown");
  const capture = { type: "string", description };
  const add = (what: string, label: (id: string) => string, run: (id: string) => unknown) => {
    const of = (args: object) => (args as Args).capture ?? panel.capture ?? "";
    commands.addCommand(name(what), {
      label: (args) => label(of(args)),
      describedBy: { args: { type: "object", properties: { capture } } },
      isEnabled: (args) => actions.entry(of(args)) !== undefined,
      execute: (args) => run(of(args)),
    });
    ids.push(name(what));
  };
  const named = (label: string) => () => label;
  add("open-in-tab", named(trans.__("Open in a Tab")), (id) => panel.openInTab([id]));
  add("compare-with", named(trans.__("Compare with …")), (id) => panel.compareWith(id));
  add(
    "pin-capture",
    (id) => (actions.entry(id)?.pinned ? trans.__("Unpin") : trans.__("Pin")),
    (id) => actions.pin(id),
  );
  add("rename-capture", named(trans.__("Rename …")), (id) => panel.edit(id));
  add("delete-capture", named(trans.__("Delete")), (id) => actions.remove(id));
  commands.addCommand(name("clear-captures"), {
    label: trans.__("Delete All Captures Except Pinned"),
    describedBy: { args: { type: "object", properties: {} } },
    execute: () => actions.clear(),
  });
  return [...ids, name("clear-captures")];
}

/** Opens the menu of one capture. */
export function rowMenu(commands: CommandRegistry, capture: string, x: number, y: number): void {
  const menu = new Menu({ commands });
  for (const what of MENU) {
    if (what) menu.addItem({ command: name(what), args: { capture } });
    else menu.addItem({ type: "separator" });
  }
  const formats = new Menu({ commands });
  formats.title.label = trans.__("Export as");
  for (const format of Object.keys(FORMATS)) {
    formats.addItem({ command: Commands.export, args: { capture, format } });
  }
  menu.addItem({ type: "submenu", submenu: formats });
  menu.addItem({ type: "separator" });
  menu.addItem({ command: name("delete-capture"), args: { capture } });
  // A command runs after its menu closed.
  menu.aboutToClose.connect(() => setTimeout(() => menu.dispose()));
  menu.open(x, y);
}
