import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { createTestDatabase, setup, startFaultProxy, waitFor } from '@postrider/testing';
import { LOCK_CLASSES } from './advisory-locks.ts';
import type { KeptSession } from './kept-session.ts';
import { createRelaySession } from './relay-session.ts';
import { openSession } from './session.ts';
import type { ParsedWakeUp } from './wake-ups.ts';

/** Nobody listens on the discard port. */
const NOWHERE = 'postgres://nobody@127.0.0.1:9/none';
const AFTER_CONNECT: ParsedWakeUp = { webhooks: [], mail: true, sweep: true };

/** A relay, as its session sees it. */
interface Relay {
  readonly session: KeptSession;
  readonly heard: ParsedWakeUp[];
  readonly errors: Error[];
  isActive: boolean;
  /** Whether it has a session with the lock. */
  hasLock: boolean;
  /** Whether it reaches its queue. */
  canWork: boolean;
  /** How often it was asked that. */
  asked: number;
  /** How often it became the active one. */
  times: number;
}

const database = setup(createTestDatabase, (opened) => opened.drop());
let relays: Relay[];

beforeEach(() => void (relays = []));
afterEach(async () => {
  await Promise.all(relays.map(({ session }) => session.stop()));
});

function startRelay(name = 'relay-a', databaseUrl = database.url): Relay {
  const heard: ParsedWakeUp[] = [];
  const errors: Error[] = [];
  const session = createRelaySession({
    databaseUrl,
    applicationName: name,
    probeIntervalMs: 200,
    onError: (error) => errors.push(error),
    canWork() {
      relay.asked += 1;
      return relay.canWork;
    },
    onWakeUp: (wakeUp) => heard.push(wakeUp),
    onLock: (isHeld) => void (relay.hasLock = isHeld),
    onActive() {
      relay.isActive = true;
      relay.times += 1;
    },
    onStandby: () => void (relay.isActive = false),
  });
  const relay: Relay = {
    session,
    heard,
    errors,
    isActive: false,
    hasLock: false,
    canWork: true,
    asked: 0,
    times: 0,
  };
  relays.push(relay);
  session.start();
  return relay;
}

const untilActive = (relay: Relay) =>
  waitFor(() => relay.isActive, { what: 'the relay to be active', timeoutMs: 15_000 });
const untilHeard = (relay: Relay, count: number) =>
  waitFor(() => relay.heard.length >= count, { what: `${count} wake-ups, with ${relay.heard.length} heard` });
const notify = (payload: string) => database.query('select pg_notify($1, $2)', ['postrider_wake', payload]);

async function pidsOf(name: string): Promise<number[]> {
  const rows = await database.query<{ pid: number }>(
    'select pid from pg_stat_activity where application_name = $1',
    [name],
  );
  return rows.map(({ pid }) => pid);
}

async function terminate(name: string): Promise<void> {
  for (const pid of await pidsOf(name)) await database.query('select pg_terminate_backend($1)', [pid]);
}

/** The relay has asked for the lock, and waits for its next try. */
async function untilRefused(name: string): Promise<void> {
  const asked = () =>
    database.query(
      `select from pg_stat_activity
       where application_name = $1 and state = 'idle' and query like '%pg_try_advisory_lock%'`,
      [name],
    );
  await waitFor(async () => (await asked()).length === 1, { what: `${name} to ask for the lock` });
}

describe('the active relay', () => {
  test('asks for a sweep when it begins to listen, and then what it hears', async () => {
    const relay = startRelay();
    await untilHeard(relay, 1);
    for (const payload of ['wh_1,wh_2', 'wh_3,mail', '*,mail', 'mail', '']) await notify(payload);
    await untilHeard(relay, 6);
    expect(relay.heard).toEqual([
      AFTER_CONNECT,
      { webhooks: ['wh_1', 'wh_2'], mail: false, sweep: false },
      { webhooks: ['wh_3'], mail: true, sweep: false },
      { webhooks: [], mail: true, sweep: true },
      { webhooks: [], mail: true, sweep: false },
      { webhooks: [], mail: false, sweep: false },
    ]);
  });

  test('whose session is ended comes back, asks for a sweep again, and was active all the time', async () => {
    const relay = startRelay();
    await untilHeard(relay, 1);
    for (const round of [1, 2]) {
      await terminate('relay-a');
      await untilHeard(relay, 2 * round);
      expect(relay.heard.at(-1)).toEqual(AFTER_CONNECT);
      await notify(`wh_${round}`);
      await untilHeard(relay, 2 * round + 1);
      expect(relay.heard.at(-1)).toEqual({ webhooks: [`wh_${round}`], mail: false, sweep: false });
    }
    expect(await pidsOf('relay-a')).toHaveLength(1);
    expect(relay.errors.length).toBeGreaterThan(0);
    expect(relay).toMatchObject({ isActive: true, hasLock: true, times: 1 });
  });

  test('whose session dies without a word finds out by itself, and listens anew', async () => {
    const line = await startFaultProxy(database.url);
    const relay = startRelay('relay-a', line.url(database.url));
    await untilHeard(relay, 1);
    line.strand();
    await waitFor(() => relay.heard.length >= 2, { what: 'the new session', timeoutMs: 20_000 });
    expect(relay.heard.at(-1)).toEqual(AFTER_CONNECT);
    expect(relay).toMatchObject({ isActive: true, times: 1 });
    await relay.session.stop();
    await line.close();
  });

  test('leaves a server that only reads, and listens when the server writes', async () => {
    const [row] = await database.query<{ name: string }>('select current_database() as name');
    const readOnly = `alter database ${row?.name ?? ''} set default_transaction_read_only`;
    await database.query(`${readOnly} = on`);
    const relay = startRelay();
    await waitFor(() => relay.errors.length > 0, { what: 'the refusal' });
    expect(relay.errors[0]).toMatchObject({ code: '25006' });
    expect(relay).toMatchObject({ isActive: false, heard: [] });
    await database.query(`${readOnly} = off`);
    await untilHeard(relay, 1);
    expect(relay.heard).toEqual([AFTER_CONNECT]);
  });
});

describe('of two relays', () => {
  test('one is active, and hears the wake-ups; the other takes over when it stops', async () => {
    const first = startRelay('relay-a');
    await untilActive(first);
    const second = startRelay('relay-b');
    await untilRefused('relay-b');
    await notify('wh_1');
    await untilHeard(first, 2);
    await first.session.stop();
    await untilActive(second);
    await untilHeard(second, 1);
    expect(second.heard).toEqual([AFTER_CONNECT]);
    await notify('wh_2');
    await untilHeard(second, 2);
    expect(first.heard).toHaveLength(2);
  });

  test('the other takes over when the active one is frozen; one then stands by', async () => {
    const line = await startFaultProxy(database.url);
    const first = startRelay('relay-a', line.url(database.url));
    await untilActive(first);
    const second = startRelay('relay-b');
    line.hold(); // nothing that it says reaches Postgres
    await untilActive(second);
    await waitFor(() => !first.hasLock, { what: 'the first to notice', timeoutMs: 15_000 });
    expect([first.isActive, second.hasLock]).toEqual([true, true]);
    line.pass();
    // A second relay that gets no CPU for five seconds loses its place, too.
    await waitFor(() => first.isActive !== second.isActive, { what: 'one to stand by' });
    await first.session.stop();
    await line.close();
  });

  test('the other takes over also when wake-ups fill the socket of the frozen one', async () => {
    const line = await startFaultProxy(database.url);
    const first = startRelay('relay-a', line.url(database.url));
    await untilActive(first);
    const second = startRelay('relay-b');
    await untilRefused('relay-b');
    line.freeze();
    await database.query(
      `select pg_notify('postrider_wake', lpad(n::text, 7000, 'x')) from generate_series(1, 2000) n`,
    );
    await untilActive(second);
    line.pass();
    // A second relay that gets no CPU for five seconds loses its place, too.
    await waitFor(() => first.isActive !== second.isActive, { what: 'one to stand by' });
    await first.session.stop();
    await line.close();
  });

  test('an active one whose session broke works on until it has asked seven times in vain', async () => {
    const first = startRelay('relay-a');
    await untilActive(first);
    const second = startRelay('relay-b');
    await untilRefused('relay-b');
    // Its lock goes to the second, because the first waits half a second before it connects again.
    await terminate('relay-a');
    await untilActive(second);
    await untilRefused('relay-a');
    expect(first.isActive).toBe(true);
    await waitFor(() => !first.isActive, { what: 'the first to stand by' });
    await second.session.stop();
    await untilActive(first);
    expect(first.times).toBe(2);
  });
});

describe('of two relays, one loses its queue', () => {
  test('the active one gives the lock to the other, and gets it back when that one loses it', async () => {
    const first = startRelay('relay-a');
    await untilActive(first);
    const second = startRelay('relay-b');
    await untilRefused('relay-b');
    first.canWork = false;
    await untilActive(second);
    expect(first.isActive).toBe(false);
    await untilHeard(second, 1);
    await notify('wh_1');
    await untilHeard(second, 2);
    expect(first.heard).toHaveLength(1);

    first.canWork = true;
    second.canWork = false;
    await untilActive(first);
    expect(second.isActive).toBe(false);
    await untilHeard(first, 2);
    for (const payload of ['wh_2', 'wh_3']) await notify(payload);
    await waitFor(() => first.heard.at(-1)?.webhooks[0] === 'wh_3', { what: 'the last wake-up' });
    expect(second.heard).toHaveLength(2);
    expect(first.heard.slice(1).map(({ webhooks }) => webhooks)).toEqual([[], ['wh_2'], ['wh_3']]);
  });

  test('the one that has lost it does not take the lock while another one has the queue', async () => {
    // This session stands for a relay that has the queue, and does not ask at the moment.
    const able = await openSession({ connectionString: database.url });
    await able.query(`select pg_advisory_lock_shared(${LOCK_CLASSES.activeRelay}, 1)`);
    const relay = startRelay();
    relay.canWork = false;
    await waitFor(() => relay.asked > 20, { what: 'the relay to ask again and again' });
    expect(relay.times).toBe(0);
    await able.end();
    await untilActive(relay);
  });

  test('while none has it, the active one stays active, and another takes over when it stops', async () => {
    const first = startRelay('relay-a');
    await untilActive(first);
    const second = startRelay('relay-b');
    await untilRefused('relay-b');
    second.canWork = false;
    first.canWork = false;
    await untilHeard(first, 1);
    const asked = first.asked;
    await waitFor(() => first.asked > asked + 20, { what: 'twice the patience of the relay' });
    expect(first).toMatchObject({ isActive: true, times: 1 });
    await first.session.stop();
    await untilActive(second);
  });
});

describe('a relay', () => {
  test('tries again while Postgres is away, and stops in between', async () => {
    const relay = startRelay('relay-a', NOWHERE);
    await waitFor(() => relay.errors.length >= 2, { what: 'a second try' });
    await relay.session.stop();
    expect(relay).toMatchObject({ isActive: false, heard: [] });
  });

  test('that was stopped has no session left, no lock, and says nothing more', async () => {
    const relay = startRelay();
    await untilHeard(relay, 1);
    await relay.session.stop();
    await waitFor(async () => (await pidsOf('relay-a')).length === 0, { what: 'its session to end' });
    expect(relay.errors).toEqual([]);
    expect(relay.heard).toHaveLength(1);
  });

  test('may be stopped while it still connects: nothing is said and no session stays', async () => {
    const relay = startRelay();
    await relay.session.stop();
    await waitFor(async () => (await pidsOf('relay-a')).length === 0, { what: 'its session to end' });
    expect(relay).toMatchObject({ heard: [], errors: [], isActive: false });
  });
});
