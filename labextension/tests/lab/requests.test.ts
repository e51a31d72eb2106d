import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Request } from "../../src/lab/kernel/messages";
import { Requests } from "../../src/lab/kernel/requests";

let sent: Request[];
let busy: boolean;
let requests: Requests;
beforeEach(() => {
  vi.useFakeTimers();
  sent = [];
  busy = false;
  const send = async (request: Request) => {
    sent.push(request);
  };
  requests = new Requests(send, { busy: () => busy, meanwhile: () => "waiting for the cell" });
});
afterEach(() => vi.useRealTimers());

test("each question has its answer, in whatever order they come", async () => {
  const [first, second] = [requests.ask({ action: "clear" }), requests.ask({ action: "list" })];
  requests.take({ type: "answer", id: sent[1]!.id, text: "second" });
  requests.take({ type: "answer", id: sent[0]!.id, text: "first" });
  expect([(await first).text, (await second).text]).toEqual(["first", "second"]);
});

test("a refusal is the kernel's one line", async () => {
  const question = requests.ask({ action: "show", captures: ["a"] });
  requests.take({ type: "refusal", id: sent[0]!.id, text: "this capture is gone" });
  await expect(question).rejects.toThrow("this capture is gone");
});

test("after half a second the user is told why there is no answer yet", () => {
  const progress = vi.fn();
  void requests.ask({ action: "list" }, progress);
  vi.advanceTimersByTime(400);
  expect(progress).not.toHaveBeenCalled();
  vi.advanceTimersByTime(200);
  expect(progress).toHaveBeenCalledWith("waiting for the cell");
});

test("what the kernel says it does is not talked over", () => {
  const progress = vi.fn();
  void requests.ask({ action: "export" }, progress);
  requests.take({ type: "progress", id: sent[0]!.id, text: "writing HTML" });
  vi.advanceTimersByTime(1000);
  expect(progress.mock.calls).toEqual([["writing HTML"]]);
});

test("a running cell may last; an idle kernel that is silent is given up", async () => {
  busy = true;
  const question = requests.ask({ action: "list" });
  const failed = expect(question).rejects.toThrow("no answer");
  vi.advanceTimersByTime(600_000);
  busy = false;
  vi.advanceTimersByTime(25_000);
  await failed;
});

test("a question that could not be sent fails, and leaves no timer", async () => {
  const broken = new Requests(() => Promise.reject(new Error("Cannot send")), {
    busy: () => false,
    meanwhile: () => "",
  });
  await expect(broken.ask({ action: "list" })).rejects.toThrow("Cannot send");
  expect(vi.getTimerCount()).toBe(0);
});

test("answers to nobody are nothing", () => {
  requests.take({ type: "answer", id: 42 });
});
