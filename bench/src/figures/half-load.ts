import type { AccountId, WebhookId } from '@postrider/domain';
import { measureRounds } from '../figure.ts';
import type { Figure, Fixture, Outcome } from '../figure.ts';
import type { Installation } from '../fixture/installation.ts';
import { quantile } from '@postrider/testing';
import { measureCapacity } from '../load/capacity.ts';
import { startAnew, warmUp } from '../load/start-anew.ts';
import { latenessMs, measureLoads } from '../load/steady-load.ts';
import type { Arrival, Ends } from '../load/steady-load.ts';
import { judging } from '../result/result.ts';
import type { Behaviour } from '../roles/receiver.ts';

/** Accounts with endpoints that answer at once, and perhaps an account with one that does not. */
interface Scene {
  readonly name: string;
  readonly accounts: number;
  readonly webhooksEach: number;
  readonly beside?: Behaviour;
}

const SCENES: readonly Scene[] = [
  { name: 'one webhook', accounts: 1, webhooksEach: 1 },
  { name: 'two webhooks', accounts: 2, webhooksEach: 1 },
  { name: 'ten accounts', accounts: 10, webhooksEach: 1 },
  { name: 'fifty accounts', accounts: 50, webhooksEach: 1 },
  { name: 'one account with ten webhooks', accounts: 1, webhooksEach: 10 },
  { name: 'beside an endpoint that takes 100 ms', accounts: 1, webhooksEach: 1, beside: 'after-100-ms' },
  {
    name: 'beside an endpoint of whose answers one in a hundred takes 2 s',
    accounts: 1,
    webhooksEach: 1,
    beside: 'tail',
  },
  {
    name: 'beside an endpoint that fails half of the time',
    accounts: 1,
    webhooksEach: 1,
    beside: 'fail-half',
  },
  { name: 'beside an endpoint that fails', accounts: 1, webhooksEach: 1, beside: 'fail' },
  { name: 'beside an endpoint that hangs', accounts: 1, webhooksEach: 1, beside: 'never' },
];
/** Accounts that measure the capacity: several, as in a real fleet. */
const CAPACITY_SCENE = 'ten accounts';
const CALLER_CONNECTIONS = 8;
const P50_MS_MAX = 100;
/** A round takes two minutes. */
const ROUNDS_MAX = 3;

export const halfLoad: Figure = {
  id: 'half-load',
  title: 'Plain steady loads at half of the capacity',
  group: 'load',
  how:
    'The capacity is measured in every round: a service records events of ten accounts as fast as eight connections can, a ' +
    'transaction each, while one relay and one worker deliver them; it counts from the first transaction to the last ' +
    'arrival. Every load has half as many deliveries a second, in equal shares for its webhooks, and begins with empty ' +
    'tables, an empty Redis and processes that have been started and warmed up. Endpoints answer at once but for the one ' +
    'that is named. Judged is the p50 from commit to the first arrival of the webhook that has the longest. One that always ' +
    'fails, or hangs, is not judged.',
  limitSeconds: 600,
  async run(fixture) {
    const prepared = await prepare(fixture);
    return measurement(await measureRounds(fixture, () => oneRound(fixture, prepared), describe, ROUNDS_MAX));
  },
};

interface PreparedScene {
  readonly scene: Scene;
  readonly accountIds: readonly AccountId[];
  readonly webhooks: readonly WebhookId[];
  /** The account of the endpoint that is named, such as one that fails. */
  readonly besideId: AccountId | null;
}

interface Prepared extends Ends {
  readonly installation: Installation;
  readonly scenes: readonly PreparedScene[];
}

interface Round {
  readonly capacityPerSecond: number;
  /** The largest p50 and p99 of a webhook, in milliseconds, in the order of the scenes. */
  readonly scenes: readonly { readonly p50: number; readonly p99: number }[];
}

async function prepare(fixture: Fixture): Promise<Prepared> {
  const { process: receiver, origins } = await fixture.receiver();
  const installation = await fixture.install();
  const scenes: PreparedScene[] = [];
  for (const scene of SCENES) scenes.push(await addScene(installation, scene, origins));
  return { installation, receiver, caller: fixture.caller(installation, CALLER_CONNECTIONS), scenes };
}

async function addScene(
  installation: Installation,
  scene: Scene,
  origins: readonly string[],
): Promise<PreparedScene> {
  const hosts = [...origins];
  const endpoint = (path: string): string => `${hosts.shift() ?? ''}/${path}`;
  const accountIds: AccountId[] = [];
  const webhooks: WebhookId[] = [];
  for (let account = 0; account < scene.accounts; account += 1) {
    const accountId = await installation.addAccount();
    const paths = namesOf(scene).map((name) => endpoint(['at-once', ...name].join('/')));
    accountIds.push(accountId);
    webhooks.push(...(await installation.addWebhooks(accountId, paths)));
  }
  if (scene.beside === undefined) return { scene, accountIds, webhooks, besideId: null };
  const besideId = await installation.addAccount();
  await installation.addWebhooks(besideId, [endpoint(scene.beside)]);
  return { scene, accountIds, webhooks, besideId };
}

/** Endpoints need names when several webhooks of an account get the same event. */
function namesOf({ webhooksEach }: Scene): string[][] {
  return webhooksEach === 1 ? [[]] : Array.from({ length: webhooksEach }, (_, index) => [String(index)]);
}

async function oneRound({ sizes }: Fixture, prepared: Prepared): Promise<Round> {
  const { installation, scenes } = prepared;
  const several = scenes.find(({ scene }) => scene.name === CAPACITY_SCENE);
  if (several === undefined) throw new Error('there is no load to measure the capacity with');
  const { capacityBurst: count, seconds } = sizes.halfLoad;
  const capacity = (events: number): Promise<number> =>
    measureCapacity(prepared, {
      accountIds: several.accountIds,
      count: events,
      concurrency: CALLER_CONNECTIONS,
    });
  await startAnew(installation);
  await warmUp(installation, several.webhooks, () => capacity(Math.ceil(count / 5)));
  const capacityPerSecond = await capacity(count);
  await installation.stopAll('at once');

  const measured: { p50: number; p99: number }[] = [];
  for (const scene of scenes) {
    const load = (forSeconds: number) => runScene(prepared, scene, capacityPerSecond / 2, forSeconds);
    await startAnew(installation);
    await warmUp(installation, scene.webhooks, load);
    const byWebhook = await load(seconds);
    await installation.stopAll('at once');
    const worst = (q: number): number =>
      Math.max(...byWebhook.map((arrivals) => quantile(arrivals.map(latenessMs), q)));
    measured.push({ p50: worst(0.5), p99: worst(0.99) });
  }
  return { capacityPerSecond, scenes: measured };
}

/** @returns the arrivals per judged webhook */
async function runScene(
  prepared: Prepared,
  { scene, accountIds, webhooks, besideId }: PreparedScene,
  deliveriesPerSecond: number,
  seconds: number,
): Promise<Arrival[][]> {
  const share = deliveriesPerSecond / (webhooks.length + (besideId === null ? 0 : 1));
  const names = namesOf(scene).flat();
  const answers = scene.beside !== 'fail' && scene.beside !== 'never';
  const [plain = [], beside = []] = await measureLoads(prepared, [
    { accountIds, perSecond: share * accountIds.length, seconds, endpoints: names },
    ...(besideId === null ? [] : [{ accountIds: [besideId], perSecond: share, seconds, awaited: answers }]),
  ]);
  // Events rotate over the accounts. Each webhook of the account gets one delivery per event.
  const ofWebhook = webhooks.map((_, place) => plain.filter((_, index) => index % webhooks.length === place));
  return [...ofWebhook, beside].filter((arrivals) => arrivals.length > 0);
}

function measurement(rounds: readonly Round[]): Outcome {
  const { check, value } = judging(rounds);
  return {
    checks: SCENES.map(({ name }, index) =>
      check(`${name}: p50`, 'ms', { atMost: P50_MS_MAX }, ({ scenes }) => scenes[index]?.p50 ?? Number.NaN),
    ),
    values: [
      value('capacity, recording included', '/s', ({ capacityPerSecond }) => capacityPerSecond),
      ...SCENES.map(({ name }, index) =>
        value(`${name}: p99`, 'ms', ({ scenes }) => scenes[index]?.p99 ?? Number.NaN),
      ),
    ],
  };
}

function describe(round: Round): string {
  const scenes = round.scenes.map(({ p50 }, index) => `${SCENES[index]?.name ?? ''} ${p50.toFixed(0)} ms`);
  return `${round.capacityPerSecond.toFixed(0)}/s; p50 at half of it: ${scenes.join(', ')}`;
}
