/** The wire's text and buffer -> tables of plain numbers. Whatever is wrong with them is said in one line. */

import { type Column, type Packed, TABLES, WIRE, type Wire } from "../wire";
import { trans } from "../words";
import { areVitals } from "./vitals/valid";

export type Ints = ArrayLike<number>;
type Decoded<T> = { readonly [K in keyof T]: Ints };
type Tables = { readonly [K in keyof typeof TABLES]: Decoded<Wire[K]> };
type Rest = Omit<Wire, keyof typeof TABLES>;
export type Data = Tables & Readonly<Rest>;

/** The text is no capture, or one of another version. */
export class WireError extends Error {}

export function decode(text: string, buffer: ArrayBuffer | DataView = new ArrayBuffer(0)): Data {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    throw new WireError(trans.__("this is not an autograd_inspector capture: it is not JSON"));
  }
  return decoded(parsed, plain(buffer));
}

/** The same from JSON that was read already, as a notebook file's is. */
export function decoded(value: unknown, bytes = new ArrayBuffer(0)): Data {
  if (typeof value !== "object" || value === null || !("wire" in value)) {
    throw new WireError(trans.__("this is not an autograd_inspector capture"));
  }
  const wire = value as Record<string, unknown>;
  checkVersion(wire.wire);
  const tables: Record<string, unknown> = { ...wire };
  for (const [name, columns] of Object.entries(TABLES)) {
    tables[name] = table(name, columns, wire[name], bytes);
  }
  for (const name of ["strings", "findings", "optimizers", "by_device", "by_dtype"]) {
    if (!Array.isArray(wire[name])) damaged(name);
  }
  if (typeof wire.head !== "object" || wire.head === null) damaged("head");
  if (!(wire.strings as unknown[]).every((text) => typeof text === "string")) damaged("strings");
  if (!(wire.findings as unknown[]).every(isStory)) damaged("findings");
  if (wire.steps && !isSteps(wire.steps)) damaged("steps");
  if (wire.ranks && !areRanks(wire.ranks)) damaged("ranks");
  if (wire.vitals && !areVitals(wire.vitals)) damaged("vitals");
  const data = tables as unknown as Data;
  check(data);
  return data;
}

export function checkVersion(version: unknown): void {
  if (version === WIRE) return;
  throw new WireError(
    trans.__(
      "this capture has version %1; this widget reads version %2: update both",
      String(version).slice(0, 20),
      WIRE,
    ),
  );
}

function isStory(finding: unknown): boolean {
  if (typeof finding !== "object" || finding === null) return false;
  const { rule, name, severity, message } = finding as Record<string, unknown>;
  return [rule, name, severity, message].every((text) => typeof text === "string");
}

/** Captures of before steps were sent have none. */
function isSteps(steps: object): boolean {
  const { figures, news } = steps as Record<string, unknown>;
  const rows = Array.isArray(figures) && Array.isArray(news) ? figures : [null];
  return rows.every((row) => Array.isArray(row?.at) && row.at.length === row.values?.length);
}

function areRanks(ranks: object): boolean {
  const { choices, lanes, headers, rows, differences } = ranks as Record<string, unknown>;
  return [choices, lanes, headers, rows, differences].every(Array.isArray);
}

function damaged(where: string): never {
  throw new WireError(trans.__("this capture is damaged: %1", where));
}

function plain(buffer: ArrayBuffer | DataView): ArrayBuffer {
  if (!ArrayBuffer.isView(buffer)) return buffer;
  const { byteOffset, byteLength } = buffer;
  return buffer.buffer.slice(byteOffset, byteOffset + byteLength) as ArrayBuffer;
}

function table(name: string, columns: readonly string[], columnar: unknown, bytes: ArrayBuffer) {
  if (typeof columnar !== "object" || columnar === null) damaged(name);
  const columnsOf = columnar as Record<string, Column>;
  const made: Record<string, Ints> = {};
  let length = -1;
  for (const column of columns) {
    const values = unpack(`${name}.${column}`, columnsOf[column], bytes);
    if (length >= 0 && values.length !== length) damaged(`${name}.${column}`);
    length = values.length;
    made[column] = values;
  }
  return made;
}

const KINDS = { int8: Int8Array, int16: Int16Array, int32: Int32Array, float64: Float64Array };

function unpack(where: string, column: Column | undefined, bytes: ArrayBuffer): Ints {
  if (Array.isArray(column)) {
    if (!column.every(Number.isFinite)) damaged(where);
    return column;
  }
  const { start, count, width, delta } = (column ?? {}) as Packed;
  if (!Number.isInteger(start) || !Number.isInteger(count) || count < 0) damaged(where);
  if (width === "constant") {
    if (count > 1e8) damaged(where);
    return new Float64Array(count).fill(start);
  }
  const kind = KINDS[width];
  if (kind === undefined) damaged(where);
  const end = start + count * kind.BYTES_PER_ELEMENT;
  if (start < 0 || end > bytes.byteLength) damaged(where);
  const values = new kind(bytes.slice(start, end));
  return delta ? summed(values) : values;
}

function summed(steps: ArrayLike<number>): Float64Array {
  const values = new Float64Array(steps.length);
  let sum = 0;
  for (let n = 0; n < steps.length; n++) {
    sum += steps[n]!;
    values[n] = sum;
  }
  return values;
}

/** What views index without asking must be there. */
function check(data: Data): void {
  const { nodes, ops, parameters, sites } = data;
  const owned: [string, Ints, Ints][] = [
    ["grad_fns", nodes.grad_fns, data.grad_fns.name],
    ["saved", nodes.saved, data.saved.name],
    ["inputs", ops.inputs, data.inputs.tensor],
    ["outputs", ops.outputs, data.outputs.tensor],
    ["writes", ops.writes, data.writes.tensor],
    ["chain", sites.chain, data.chain.frame],
    ["state", parameters.state, data.state.name],
  ];
  for (const [name, counts, rows] of owned) {
    let sum = 0;
    for (let n = 0; n < counts.length; n++) sum += counts[n]! < 0 ? Number.NaN : counts[n]!;
    if (sum !== rows.length) damaged(name);
  }
  within("edges.source", data.edges.source, 0, nodes.kind.length);
  within("edges.target", data.edges.target, 0, nodes.kind.length);
  within("nodes.op", nodes.op, -1, ops.name.length);
  within("nodes.call", nodes.call, -1, data.calls.path.length);
  within("nodes.tensor", nodes.tensor, -1, data.tensors.kind.length);
  const parents = data.calls.parent;
  for (let n = 0; n < parents.length; n++) if (!(parents[n]! < n)) damaged("calls.parent");
}

function within(where: string, values: Ints, low: number, high: number): void {
  for (let n = 0; n < values.length; n++) {
    if (!(values[n]! >= low && values[n]! < high)) damaged(where);
  }
}
