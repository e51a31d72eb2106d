/** What the parts of the extension know of each other: the kernels' captures, and the panel that shows them. */

import { Token } from "@lumino/coreutils";
import type { ISignal } from "@lumino/signaling";
import type { Answer, Entry, Live, Request } from "./kernel/messages";

/**
 * What is known of a kernel.
 *
 * `unknown`: it was not reached yet. `absent`: no hub so far; one may begin any time. `busy`: a hub is known or likely,
 * but the kernel answers only when its cell ends. `refused`: it speaks another version, see `why`.
 */
export type State = "unknown" | "absent" | "connecting" | "ready" | "busy" | "dead" | "refused";

/** How a kernel inspects. */
export interface Inspecting {
  every: boolean;
  keep: number;
  values: boolean;
}

/** A request without its number. */
export type RequestBody = Omit<Request, "id">;

/** The captures of one kernel. */
export interface IClient {
  readonly kernelId: string;
  readonly state: State;
  /** One line for the user, where `state` is not `ready`. */
  readonly why: string;
  /** Newest first. */
  readonly entries: readonly Entry[];
  /** null until the kernel told. */
  readonly settings: Inspecting | null;
  /** Anything above is different. */
  readonly changed: ISignal<IClient, void>;
  /** The capture that is open while its cell runs; null where there is none, or the kernel cannot tell. */
  readonly live: { readonly now: Live | null; readonly changed: ISignal<unknown, void> };
  /** Rejects with one line to show. `progress` is told what the kernel is at. */
  ask(asked: RequestBody, progress?: (text: string) => void): Promise<Answer>;
}

/** All kernels of this page. */
export interface IInspector {
  /** That of the active notebook or console. */
  readonly current: IClient | null;
  /** Another client is current, or something about a client is different. */
  readonly changed: ISignal<IInspector, void>;
  clientOf(kernelId: string): IClient | null;
  /** Bring the panel to the front with a capture of the current kernel. */
  show(captureId: string): Promise<void>;
}

export const IInspector = new Token<IInspector>(
  "autograd-inspector:IInspector",
  "The autograd captures of the kernels of this page.",
);

/** Registered with the panel. */
export const SHOW_PANEL = "autograd-inspector:show-panel";
export const PANEL_ID = "autograd-inspector-panel";
