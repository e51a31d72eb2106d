/** Whether what a wire holds as vitals can be drawn. */

const WORDS: unknown[] = ["nan", "inf", "-inf"];

export function areVitals(value: unknown): boolean {
  const { steps, seen, quantities, memory, updates, scale, checkpoints = [] } = fields(value);
  if (!numbers(steps) || !Number.isFinite(seen) || !numbers(updates)) return false;
  const columns = (values: unknown, length: number) =>
    Array.isArray(values) && values.length === length && values.every(isCell);
  return (
    columns(scale, updates.length) &&
    rows(checkpoints, isSaving) &&
    rows(memory, (line) => isMemory(line, steps.length)) &&
    rows(
      quantities,
      ({ key, title, rows: own }) =>
        isText(key) &&
        isText(title) &&
        rows(
          own,
          ({ label, path, values }) =>
            isText(label) && isText(path) && columns(values, steps.length),
        ),
    )
  );
}

function isMemory({ label, values, ops, sites }: Record<string, unknown>, count: number): boolean {
  const told = (list: unknown, fits: (value: unknown) => boolean) =>
    list === undefined || (Array.isArray(list) && list.length <= count && list.every(fits));
  const cells = Array.isArray(values) && values.length === count && values.every(isCell);
  return isText(label) && cells && told(ops, isText) && told(sites, Number.isInteger);
}

function isSaving({ name, modules, type, ...counts }: Record<string, unknown>): boolean {
  const { before, held, peak, ops } = counts;
  const texts = Array.isArray(modules) ? [name, type, ...modules] : [null];
  return texts.every(isText) && numbers([before, held, peak, ops]);
}

function rows(value: unknown, fits: (row: Record<string, unknown>) => boolean): boolean {
  return Array.isArray(value) && value.every((row) => fits(fields(row)));
}

function fields(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}

function isText(value: unknown): value is string {
  return typeof value === "string";
}

function numbers(value: unknown): value is number[] {
  return Array.isArray(value) && value.every(Number.isFinite);
}

function isCell(value: unknown): boolean {
  return value === null || Number.isFinite(value) || WORDS.includes(value);
}
