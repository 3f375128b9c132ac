import { setTimeout as delay } from 'node:timers/promises';
import type { WebhookEvent } from '../webhook-event.ts';
import { attempt } from './attempt.ts';
import type { Handler } from './attempt.ts';
import { escapeUnprintable, Failure, messageOf, printEvent } from './io.ts';
import type { Io } from './io.ts';

/** The API of an installation, and a key with the scope `webhooks:manage`. */
export interface EventSource {
  readonly api: URL;
  readonly key: string;
}

interface Page {
  readonly has_more: boolean;
  readonly next_cursor: string;
  readonly data: readonly WebhookEvent[];
}

/** 12 requests a minute: a fifth of what a key may make by default. */
const POLL_MS = 5_000;
const REQUEST_TIMEOUT_MS = 30_000;

/** The API is busy or away. The next request may succeed. */
class Unavailable extends Error {}

/**
 * Prints the account's events from now on, until `io.stop`, and sends them to a handler without a public URL.
 *
 * @param handler gets each event, signed anew. Null: the events are only printed.
 * @throws Failure when the API refuses the request, or does not answer the first one.
 */
export async function poll(source: EventSource, handler: Omit<Handler, 'at'> | null, io: Io): Promise<void> {
  const first = await ask(source, { limit: '1' }, io).catch((error: unknown) => {
    throw new Failure(messageOf(error), { cause: error });
  });
  const to = handler === null ? '' : `, forwarding to ${escapeUnprintable(handler.target.href)}`;
  io.print(`waiting for the events of the account${to}`);
  if (handler !== null) io.print(`secret ${handler.secret}`);
  for await (const event of newEvents(source, first.now, io)) {
    printEvent(io, event, handler === null ? 'recorded' : await outcomeOf(event, handler, io));
  }
}

/**
 * The events since a time, in the order of the API's list. While the API is away, this waits and skips no
 * event.
 */
async function* newEvents(source: EventSource, since: Date, io: Io): AsyncGenerator<WebhookEvent> {
  const query: Record<string, string> = { limit: '100', since: since.toISOString() };
  let isAway = false;
  while (io.stop?.aborted !== true) {
    const page = await ask(source, query, io).catch((error: unknown) => {
      if (!(error instanceof Unavailable)) throw error;
      if (!isAway && io.stop?.aborted !== true) io.print(escapeUnprintable(`waiting: ${error.message}`));
      return null;
    });
    isAway = page === null;
    if (page !== null) {
      yield* page.data;
      // The cursor of an empty page may be minutes older than `since`, so `since` stays until an event comes.
      if (page.data.length > 0) delete query['since'];
      query['after'] = page.next_cursor;
    }
    if (page?.has_more !== true) await pause(io);
  }
}

async function pause({ pollMs = POLL_MS, stop }: Io): Promise<void> {
  await delay(pollMs, undefined, stop === undefined ? {} : { signal: stop }).catch(() => undefined);
}

async function outcomeOf(event: WebhookEvent, handler: Omit<Handler, 'at'>, io: Io): Promise<string> {
  try {
    const { status } = await attempt(event, { ...handler, at: new Date() }, io);
    return `answered ${status}`;
  } catch (error) {
    return messageOf(error);
  }
}

/**
 * @returns a page, and the time by the clock of the API.
 * @throws Failure when the API refuses, and Unavailable when a later request may succeed.
 */
async function ask(
  { api, key }: EventSource,
  query: Readonly<Record<string, string>>,
  { stop }: Io,
): Promise<Page & { now: Date }> {
  const url = new URL(`${api.pathname.replace(/\/$/, '')}/v1/events`, api);
  const timeout = AbortSignal.timeout(REQUEST_TIMEOUT_MS);
  const signal = stop === undefined ? timeout : AbortSignal.any([timeout, stop]);
  url.search = new URLSearchParams(query).toString();
  try {
    const headers = { authorization: `Bearer ${key}` };
    const answer = await fetch(url, { headers, redirect: 'manual', signal });
    if (answer.ok) {
      const page = (await answer.json()) as Page;
      if (!Array.isArray(page.data)) throw new Failure(`${url.origin} has no list of events`);
      return { ...page, now: new Date(answer.headers.get('date') ?? Date.now()) };
    }
    const words = `${url.origin} answered ${answer.status}: ${wordsOf(await answer.text())}`;
    if (answer.status !== 429 && answer.status < 500) throw new Failure(words);
    throw new Unavailable(words);
  } catch (error) {
    if (error instanceof Failure || error instanceof Unavailable) throw error;
    // The error of fetch says only "fetch failed". Its cause has the reason.
    const reason = error instanceof Error && error.cause !== undefined ? error.cause : error;
    throw new Unavailable(`${url.origin} does not answer: ${messageOf(reason)}`, { cause: error });
  }
}

/** The detail of a problem document, or the beginning of another answer. */
function wordsOf(text: string): string {
  const beginning = text.slice(0, 200);
  try {
    const { detail, title } = JSON.parse(text) as { detail?: string; title?: string };
    return detail ?? title ?? beginning;
  } catch {
    return beginning;
  }
}
