import { html } from '@remix-run/html-template';
import { QUEUE_KEYS, waitingMax } from '@postrider/queue';
import type { QueueDepth, QueueKey } from '@postrider/queue';
import type { KnownWorker, QueueIdentity } from '@postrider/store';
import { empty, section, state } from '../html/pieces.ts';
import type { Html, Sign } from '../html/pieces.ts';
import { numberTable } from '../html/table.ts';
import { count, counted, duration } from '../html/words.ts';

/** The answers of the queue. `depths` and `identity` are null when they could not be read. */
export interface Lanes {
  readonly depths: Readonly<Record<QueueKey, QueueDepth>> | null;
  readonly identity: QueueIdentity | null;
  /** Why a value could not be read. */
  readonly fault: string | null;
  /** Set when Redis may evict jobs. */
  readonly evictionFault: string | null;
}

export function isRunning({ state: word }: KnownWorker): boolean {
  return word === 'running';
}

/** The lanes of the queue, and the workers of the last minute. */
export function lanesSection(lanes: Lanes, workers: readonly KnownWorker[]): Html {
  const kind = lanes.identity?.kind ?? workers[0]?.queue.kind;
  const words = kind === 'redis' ? 'Queue on Redis' : 'Queue on Postgres';
  const side = kind === undefined ? null : html`<p class="small soft">${words}</p>`;
  return section(
    'lanes',
    { title: 'Lanes and workers', side },
    html`<div class="card">${laneTable(lanes, slotsOf(workers))} ${workerTable(workers)}</div>`,
  );
}

/** The slots of all running workers. */
function slotsOf(workers: readonly KnownWorker[]): number {
  return workers.filter(isRunning).reduce((sum, worker) => sum + worker.slots, 0);
}

function laneTable({ depths, fault }: Lanes, slots: number): Html {
  if (depths === null) return empty('The queue does not answer', fault);
  return numberTable({
    caption: 'Lanes of the job queue',
    columns: ['Lane', { label: 'Waiting', isNumber: true }, { label: 'Delayed', isNumber: true }, 'Status'],
    rows: QUEUE_KEYS.map((key) => [
      html`<span class="term">${key}</span>`,
      count(depths[key].waiting),
      count(depths[key].delayed),
      laneStatus(key, depths[key], slots),
    ]),
  });
}

/** A lane half full counts as full: workers take some jobs before the relay adds more. */
function laneStatus(key: QueueKey, { waiting }: QueueDepth, slots: number): Html {
  if (waiting < waitingMax(key, slots) / 2) return state('good', 'keeping up');
  if (key === 'slow') return state('wait', 'full of failing or hanging endpoints');
  return key === 'mail'
    ? state('wait', 'full: waits for the mail provider')
    : state('bad', 'full: add workers');
}

/** A large fleet has more. */
const WORKERS_SHOWN = 20;

const SIGNS: Readonly<Record<KnownWorker['state'], Sign>> = { running: 'good', silent: 'wait', died: 'off' };

/** Each worker by its number. The rows of `deliveries` that it took have the same number. */
function workerTable(workers: readonly KnownWorker[]): Html {
  const running = workers.filter(isRunning);
  const more = workers.length - WORKERS_SHOWN;
  const table = numberTable({
    caption: 'Workers',
    captionMore: `${count(running.length)} with ${counted(slotsOf(workers), 'slot')}, seen in the last 3 s`,
    columns: ['Worker', { label: 'Slots', isNumber: true }, { label: 'Last seen', isNumber: true }, 'State'],
    rows: workers
      .slice(0, WORKERS_SHOWN)
      .map((worker) => [
        html`<code>${String(worker.number)}</code>`,
        count(worker.slots),
        silence(worker),
        state(SIGNS[worker.state], worker.state),
      ]),
  });
  return html`${table} ${more > 0 ? html`<p class="pad">and ${counted(more, 'other worker')}</p>` : null}`;
}

/** `0.4 s ago` */
function silence({ silentMs }: KnownWorker): string {
  return `${silentMs < 10_000 ? (silentMs / 1000).toFixed(1) + ' s' : duration(silentMs / 1000)} ago`;
}
