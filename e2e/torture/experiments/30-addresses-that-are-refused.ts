import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Experiment } from '../harness/experiment.ts';
import type { World } from '../harness/world/world.ts';

interface CorpusRow {
  readonly url: string;
  readonly expect: 'allow' | 'refuse';
  /** The answers of DNS, for a URL with a name. */
  readonly resolves_to?: unknown;
  readonly resolves_to_sequence?: unknown;
}

const CORPUS = join('packages', 'outbound', 'test', 'ssrf-corpus.json');

export const addressesThatAreRefused: Experiment = {
  number: 30,
  title: 'the whole corpus of forbidden addresses, through POST and through the workers',
  shows: 'each is refused at registration or dead-lettered without a request; no canary sees a connection',
  runs: 'ci',
  async run(world) {
    const canary = await world.canary();
    await world.start('api');
    await world.start('relay');
    // No address is allowed, not even the loopback addresses of the harness's own endpoints.
    await world.start('worker', { env: { DELIVERY_ALLOWED_NETWORKS: '' } });
    const registered = await registerAll(world, [canary.url, ...forbidden()]);
    await world.producer.record(1);
    await world.drained();
    const letters = await world.query<{ webhook_id: string; reason: string; attempts: number }>(
      'select webhook_id, reason, attempts from dead_letters',
    );
    const rejected = new Map(
      letters
        .filter((letter) => letter.reason === 'rejected' && letter.attempts === 0)
        .map((letter) => [letter.webhook_id, letter]),
    );
    const wrong = registered.filter(({ id }) => !rejected.has(id));
    world.claim(
      `${registered.length} addresses are dead-lettered as rejected, without an attempt`,
      registered.length > 0 && wrong.length === 0,
      wrong.map(({ url }) => url).join(' '),
    );
  },
};

/** The URLs that are refused without DNS. A name may have another address on this machine. */
function forbidden(): string[] {
  const corpus = JSON.parse(readFileSync(CORPUS, 'utf8')) as CorpusRow[];
  return corpus
    .filter((row) => row.resolves_to === undefined && row.resolves_to_sequence === undefined)
    .filter((row) => row.expect === 'refuse')
    .map((row) => row.url);
}

/** @returns the webhooks that the API accepted. It must refuse all others with 422. */
async function registerAll(world: World, urls: readonly string[]): Promise<{ id: string; url: string }[]> {
  const registered = [];
  const odd = [];
  for (const url of urls) {
    const answered = await world.api.request('POST', '/v1/webhooks', { endpoint: url });
    if (answered.outcome !== 'answered') odd.push(url);
    else if (answered.status === 201) registered.push({ id: (answered.body as { id: string }).id, url });
    else if (answered.status !== 422) odd.push(`${url} (${answered.status})`);
  }
  world.claim('every other address is refused with 422', odd.length === 0, odd.join(' '));
  return registered;
}
