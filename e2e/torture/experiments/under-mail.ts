import { createHash } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { answer, takingMs, waitFor } from '@postrider/testing';
import type { SystemProcess } from '@postrider/testing';
import type { ServerProxy, World } from '../harness/world/world.ts';

/** An address on the domain that all accounts share with the sandbox. */
export const INBOX = 'torture@inbound.postrider.example';

const ARRIVALS = 5;
const AT_ONCE = 6;
const ATTACHMENT_BYTES_MAX = 100_000;
const READ_AT_ONCE = 4;
const TIMES_AWAY = 5;
const AWAY_MS = 1_000;
const TAKEN_BETWEEN = 10;

export interface MailWish {
  /** The environment of every process. */
  readonly env?: Readonly<Record<string, string>>;
  /** The proxies between the inbound process and its servers. */
  readonly through?: readonly ServerProxy[];
}

export interface MailLoad {
  readonly inbound: SystemProcess;
  /** Starts no new message, and waits until each message has got 250. */
  stop(): Promise<void>;
}

/** Starts an endpoint and all processes but the inbound one, and makes an inbox. */
export async function readyForMail(world: World, env: MailWish['env'] = {}): Promise<void> {
  await world.endpoint({ reaction: takingMs(20, answer(200)) });
  for (const name of ['api', 'relay', 'worker'] as const) await world.start(name, { env });
  await makeInbox(world);
}

export async function makeInbox(world: World): Promise<void> {
  const made = await world.api.request('POST', '/v1/inboxes', { email_address: INBOX });
  if (made.outcome !== 'answered' || made.status !== 201)
    throw new Error(`no inbox was made: ${JSON.stringify(made)}`);
}

/** Like `readyForMail`, with an inbound process. Resolves when the first mail, of all sizes, is accepted. */
export async function underMail(world: World, { env = {}, through = [] }: MailWish = {}): Promise<MailLoad> {
  await readyForMail(world, env);
  const inbound = await world.start('inbound', { env, through });
  const stopping = new AbortController();
  const sending = world.sender.send(Infinity, {
    to: INBOX,
    atOnce: AT_ONCE,
    bytes: () => world.random.between(0, ATTACHMENT_BYTES_MAX),
    until: stopping.signal,
  });
  sending.catch(() => undefined); // `stop` throws it
  await world.until('mail to be taken', () => world.sender.taken >= ARRIVALS);
  return {
    inbound,
    async stop() {
      stopping.abort();
      await sending;
    },
  };
}

/** Takes the blob store away again and again. Each time, a sender gets 451. Then mail is accepted again. */
export async function blobsAwayAndBack(
  world: World,
  store: { goAway(): void | Promise<void>; comeBack(): void },
): Promise<void> {
  for (let time = 1; time <= world.scaled(TIMES_AWAY); time += 1) {
    await world.fault('the blob store is away', { mayRepeat: false }, async () => {
      const before = world.sender.refused(451);
      await store.goAway();
      await world.until('a sender to be told 451', () => world.sender.refused(451) > before);
      await delay(AWAY_MS);
      store.comeBack();
    });
    const enough = world.sender.taken + TAKEN_BETWEEN;
    await world.until('mail to be taken', () => world.sender.taken >= enough);
  }
}

/**
 * Claims that every message got 250 in the end, and is one record of the API, with the bytes that were sent.
 * The checker finds whether each has one event, which arrived.
 */
export async function claimRecords(world: World): Promise<void> {
  const { log, sent } = world.sender;
  const refused = log.filter(({ outcome }) => outcome !== 'ok').map(({ cause }) => cause);
  world.claim('in the end every message heard 250', refused.length === 0, refused.join(' '));
  const ids = new Map<string, string[]>();
  for (const { id, message_id: header } of await listRecords(world)) {
    const cause = header.slice(1, -1); // the angle brackets
    ids.set(cause, [...(ids.get(cause) ?? []), id]);
  }
  const wrong = [...sent.keys()].filter((cause) => ids.get(cause)?.length !== 1);
  world.claim(
    'every message is one record of the API',
    wrong.length === 0 && ids.size === sent.size,
    `${ids.size} for ${sent.size}; ${wrong.map((cause) => `${cause} has ${ids.get(cause)?.length ?? 0}`).join(', ')}`,
  );
  const damaged = await findDamaged(world, ids);
  world.claim('each with the bytes that were sent', damaged.length === 0, damaged.join(', '));
}

interface ApiRecord {
  readonly id: string;
  readonly message_id: string;
}

async function listRecords(world: World): Promise<ApiRecord[]> {
  const records: ApiRecord[] = [];
  for (let after = ''; ;) {
    const page = await read<{ data: ApiRecord[]; has_more: boolean }>(
      world,
      `/v1/inbound/messages?limit=100${after}`,
    );
    records.push(...page.data);
    if (!page.has_more) return records;
    after = `&after=${records.at(-1)?.id ?? ''}`;
  }
}

async function findDamaged(world: World, ids: ReadonlyMap<string, readonly string[]>): Promise<string[]> {
  const damaged: string[] = [];
  const left = [...ids];
  const checkOthers = async (): Promise<void> => {
    for (let next = left.pop(); next !== undefined; next = left.pop()) {
      const [cause, [id]] = next;
      const message = `/v1/inbound/messages/${id ?? ''}`;
      const raw = await download(await read<Link>(world, `${message}/raw`));
      if (!isAsSent(raw, world.sender.sent.get(cause))) damaged.push(`${cause}: ${raw.length} bytes`);
      const { data } = await read<{ data: (Link & { size: number })[] }>(world, `${message}/attachments`);
      for (const attachment of data) {
        const content = await download(attachment);
        // The sender fills an attachment with the Message-ID.
        if (!content.equals(Buffer.alloc(attachment.size, cause))) damaged.push(`${cause}: its attachment`);
      }
      if (data.length !== 1) damaged.push(`${cause}: ${data.length} attachments`);
    }
  };
  await Promise.all(Array.from({ length: READ_AT_ONCE }, checkOthers));
  return damaged;
}

interface Link {
  readonly download_url: string;
}

async function download({ download_url: url }: Link): Promise<Buffer> {
  return Buffer.from(await (await fetch(url)).arrayBuffer());
}

/** The bytes end with the message as it was sent. Postrider's `Received` header comes before. */
function isAsSent(bytes: Buffer, sent: { length: number; sha256: string } | undefined): boolean {
  if (sent === undefined || bytes.length < sent.length) return false;
  const message = bytes.subarray(bytes.length - sent.length);
  return createHash('sha256').update(message).digest('hex') === sent.sha256;
}

/** Asks again after a 429: on a busy machine the limiter may not count in time. */
async function read<Body>(world: World, path: string): Promise<Body> {
  const answered = await waitFor(
    async () => {
      const answer = await world.api.request('GET', path);
      return answer.outcome === 'answered' && answer.status === 429 ? null : answer;
    },
    { what: `an answer to GET ${path}` },
  );
  if (answered.outcome !== 'answered' || answered.status !== 200)
    throw new Error(`GET ${path}: ${JSON.stringify(answered)}`);
  return answered.body as Body;
}
