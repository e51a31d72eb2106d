import { beforeEach, expect, test, vi } from "vitest";
import { Client } from "../../src/lab/kernel/client";
import { changed, FakeKernel, listing, settled } from "./fake_kernel";

vi.mock("../../src/lab/kernel/subshell", () => ({ beginSubshell: async () => null }));

let fake: FakeKernel;
beforeEach(() => {
  fake = new FakeKernel();
});
const ids = (client: Client) => client.entries.map((entry) => entry.id);

async function connected(): Promise<Client> {
  const client = new Client(fake.kernel);
  await settled();
  return client;
}

test("a kernel without a hub is asked nothing", async () => {
  const client = await connected();
  expect(client.state).toBe("absent");
  expect(fake.comms).toEqual([]);
  await expect(client.ask({ action: "list" })).rejects.toThrow();
});

test("a hub that begins says all there is", async () => {
  const client = await connected();
  fake.begin(listing(3, ["b", "a"]));
  expect(client.state).toBe("ready");
  expect(ids(client)).toEqual(["b", "a"]);
  expect(client.settings).toEqual({ every: false, keep: 50, values: false });
});

test("after a reload the hub is found, and asked for its list", async () => {
  fake.hub = "hub-of-before";
  const client = await connected();
  expect(client.state).toBe("connecting");
  expect(fake.asked.opened).toBe(true);
  expect(fake.asked.sent.at(-1)!.action).toBe("list");
  fake.answer({ list: listing(7, ["a"]) });
  await settled();
  expect(client.state).toBe("ready");
  fake.comms[0]!.tell(changed(8, "b"));
  expect(ids(client)).toEqual(["b", "a"]);
});

test("a kernel that runs a cell, without subshells, is waited for", async () => {
  vi.useFakeTimers();
  fake.hub = "hub";
  let end: () => void = () => {};
  fake.running = new Promise((resolve) => {
    end = resolve;
  });
  const client = new Client(fake.kernel);
  await vi.advanceTimersByTimeAsync(400);
  expect(client.state).toBe("busy");
  expect(client.why).toContain("is starting or busy");
  end();
  await vi.advanceTimersByTimeAsync(0);
  expect(fake.asked.sent.at(-1)!.action).toBe("list");
  vi.useRealTimers();
});

test("a gap is filled by a list, and what was heard meanwhile counts", async () => {
  const client = await connected();
  const hub = fake.begin(listing(1, ["a"]));
  hub.tell(changed(4, "d"));
  await settled();
  expect(ids(client)).toEqual(["a"]);
  expect(fake.asked.sent).toHaveLength(1);
  hub.tell(changed(5, "e"));
  fake.answer({ list: listing(4, ["d", "c", "a"]) });
  await settled();
  expect(ids(client)).toEqual(["e", "d", "c", "a"]);
});

test("a restart leaves nothing: not the list, not a question, not an answer that comes late", async () => {
  fake.hub = "hub";
  const client = await connected();
  const late = fake.asked;
  fake.answer({ list: listing(1, ["a"]) });
  await settled();
  const question = client.ask({ action: "show", captures: ["a"] });
  await settled();
  fake.hub = null;
  fake.become("restarting");
  expect(ids(client)).toEqual([]);
  await expect(question).rejects.toThrow("restarted");
  late.tell({ type: "answer", id: 1, list: listing(9, ["a"]) });
  fake.connection("connected");
  await settled();
  expect(client.state).toBe("absent");
  expect(client.why).toContain("restarted");
  fake.begin(listing(0, ["new"]));
  expect(ids(client)).toEqual(["new"]);
  expect(client.why).toBe("");
});

test("a kernel that dies says so", async () => {
  const client = await connected();
  fake.begin(listing(1, ["a"]));
  fake.become("dead");
  expect(client.state).toBe("dead");
  expect(ids(client)).toEqual([]);
  await expect(client.ask({ action: "list" })).rejects.toThrow("died");
});

test("a connection that comes back asks for what was missed", async () => {
  const client = await connected();
  fake.begin(listing(1, ["a"]));
  fake.connection("connecting");
  expect(ids(client)).toEqual(["a"]);
  fake.connection("connected");
  await settled();
  fake.answer({ list: listing(2, ["b", "a"]) });
  await settled();
  expect(ids(client)).toEqual(["b", "a"]);
});

test.each([
  [{ protocol: 99 }, "where JupyterLab is installed"],
  [{ protocol: 0 }, "in the kernel's environment"],
  [{ wire: 99 }, "where JupyterLab is installed"],
])("other versions are refused in one line: %o", async (versions, line) => {
  const client = await connected();
  fake.begin(listing(1, ["a"], versions));
  expect(client.state).toBe("refused");
  expect(client.why).toContain(line);
  expect(client.why).not.toContain("\n");
  expect(ids(client)).toEqual([]);
});

test("after its kernel is gone a client tells nobody anything", async () => {
  const client = await connected();
  fake.begin(listing(1, ["a"]));
  const heard = vi.fn();
  client.changed.connect(heard);
  fake.disposed.emit();
  heard.mockClear();
  fake.comms[0]!.tell(changed(2, "b"));
  expect(heard).not.toHaveBeenCalled();
});
