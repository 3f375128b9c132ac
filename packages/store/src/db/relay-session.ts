import type { Client, Pool } from 'pg';
import { holdersOf, LOCK_CLASSES } from './advisory-locks.ts';
import { queryOn } from './database.ts';
import { endKeptSession, keepSession } from './kept-session.ts';
import type { KeptSession, KeptSessionOptions } from './kept-session.ts';
import { CHANNEL, parseWakeUp } from './wake-ups.ts';
import type { ParsedWakeUp } from './wake-ups.ts';

export interface RelaySessionOptions extends Pick<
  KeptSessionOptions,
  'databaseUrl' | 'applicationName' | 'onError' | 'probeIntervalMs'
> {
  /** Whether the relay reaches its queue. If not, an active relay yields to another relay that does. */
  readonly canWork: () => boolean;
  /** Called with true when a session gets the lock, and with false when that session ends. */
  readonly onLock: (isHeld: boolean) => void;
  /** This relay has the lock: it is the active one. */
  readonly onActive: () => void;
  /** This relay is no longer the active one: it gave the lock away, or another relay has it. */
  readonly onStandby: () => void;
  /** Receives wake-ups. When a session gets the lock, the first wake-up asks for a sweep. */
  readonly onWakeUp: (wakeUp: ParsedWakeUp) => void;
}

/** The active relay holds the first lock. All relays that can work share the second. */
const [ACTIVE, ABLE] = [0, 1];

const isHeld = (lock: number): string => `exists (select ${holdersOf(LOCK_CLASSES.activeRelay, lock)})`;

/** $1: whether this relay can work. If no relay can, any relay may have the lock. */
const LOCK = `
  select case when $1 or not ${isHeld(ABLE)}
    then pg_try_advisory_lock(${LOCK_CLASSES.activeRelay}, ${ACTIVE}) else false end as mine`;
const BE_ABLE = `select pg_advisory_lock_shared(${LOCK_CLASSES.activeRelay}, ${ABLE})`;
const BE_UNABLE = `select pg_advisory_unlock_shared(${LOCK_CLASSES.activeRelay}, ${ABLE})`;
const IS_ABLE = `select ${isHeld(ABLE)} as able`;
const IS_ACTIVE = `select ${isHeld(ACTIVE)} as active`;

const ASK_EVERY_MS = 1_000;
/**
 * Postgres ends a session that is silent for this long, and its lock. The session's relay is frozen, or its
 * machine is gone.
 */
const SILENT_MS = 5_000;
/**
 * An active relay whose session broke keeps working while it asks for the lock, so many times. For
 * `SILENT_MS`, its own broken session may still hold the lock.
 */
const REFUSALS_MAX = 7;
/**
 * An active relay without its queue keeps the lock for so many checks: all relays may lose a queue briefly.
 */
const UNABLE_MAX = 10;

/**
 * The relay's own session. It holds the lock of the active relay, and listens for wake-ups. A relay without
 * the lock asks for it every second, and hears no wake-ups. An active relay that loses its queue gives the
 * lock to a relay that reaches the queue.
 *
 * Two relays may be active for some seconds. Then passes run twice, but a claim leases a row to one relay.
 */
export function createRelaySession({
  canWork,
  onLock,
  onActive,
  onStandby,
  onWakeUp,
  ...session
}: RelaySessionOptions): KeptSession {
  const shareAbleLock = ableLock(canWork);
  let listening: Client | null = null;
  let isActive = false;
  let refusals = 0;
  let timesUnable = 0;

  async function ask(client: Client): Promise<void> {
    const isAble = await shareAbleLock(client);
    timesUnable = isAble ? 0 : timesUnable + 1;
    if (client === listening) {
      if (timesUnable < UNABLE_MAX) await client.query('select 1');
      else await giveLockAway(client);
      return;
    }
    const { rows } = await client.query<{ mine: boolean }>(LOCK, [isAble]);
    if (rows[0]?.mine !== true) {
      countRefusal();
      return;
    }
    client.on('notification', ({ payload = '' }) => onWakeUp(parseWakeUp(payload)));
    client.once('end', () => onLock(false));
    await client.query(`listen ${CHANNEL}`);
    listening = client;
    refusals = 0;
    if (!isActive) onActive();
    isActive = true;
    onLock(true);
    onWakeUp({ webhooks: [], mail: true, sweep: true });
  }

  function countRefusal(): void {
    refusals += 1;
    if (isActive && refusals >= REFUSALS_MAX) standBy();
  }

  /**
   * If another relay can work, ends the session, and so its locks and its LISTEN. A new session follows,
   * which hears no wake-ups until it gets the lock.
   */
  async function giveLockAway(client: Client): Promise<void> {
    const { rows } = await client.query<{ able: boolean }>(IS_ABLE);
    if (rows[0]?.able !== true) return;
    standBy();
    await endKeptSession(client);
  }

  function standBy(): void {
    isActive = false;
    onStandby();
  }

  return keepSession({
    probeIntervalMs: ASK_EVERY_MS,
    ...session,
    // Wake-ups fill the socket of a frozen relay. While Postgres waits to write to it, no timeout of Postgres
    // runs. So the kernel must end the connection.
    settings: { idle_session_timeout: String(SILENT_MS), tcp_user_timeout: String(SILENT_MS) },
    onConnect: ask,
    onProbe: ask,
  });
}

/** Shares the second lock while the relay can work. @returns a function that says whether it can */
function ableLock(canWork: () => boolean): (client: Client) => Promise<boolean> {
  let holder: Client | null = null;
  return async (client) => {
    const isAble = canWork();
    if (isAble !== (holder === client)) {
      await client.query(isAble ? BE_ABLE : BE_UNABLE);
      holder = isAble ? client : null;
    }
    return isAble;
  };
}

/** Whether any relay is active. It is false for some seconds while another relay takes over. */
export async function relayIsActive(pool: Pool): Promise<boolean> {
  const { rows } = await queryOn<{ active: boolean }>(pool, IS_ACTIVE, []);
  return rows[0]?.active === true;
}
