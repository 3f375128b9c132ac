import { createUnsubscribeTokens } from '@postrider/domain';
import type { TopicId } from '@postrider/domain';
import type { RouteLaw } from './fuzz/law.ts';
import { SECRET_KEYS } from './start-api.ts';
import type { Caller, TestApi } from './start-api.ts';

type Noun = NonNullable<RouteLaw['noun']>;

/** What an account has, made by requests of its own. */
export interface OwnResources {
  /** What the `:id` of a path names: a new one, but for an email, of which one is enough. */
  idOf(noun: Noun): Promise<string>;
  /** The ids of all that was made. */
  readonly made: ReadonlySet<string>;
}

/** @param caller with every scope. */
export function createOwnResources(api: TestApi, { accountId, authorization }: Caller): OwnResources {
  const made = new Set<string>();

  async function create(path: string, body: object): Promise<string> {
    const response = await fetch(`${api.url}${path}`, {
      method: 'POST',
      headers: { authorization },
      body: JSON.stringify(body),
    });
    if (!response.ok) throw new Error(`POST ${path} answered ${response.status}`);
    const { id } = (await response.json()) as { id: string };
    made.add(id);
    return id;
  }

  let names = 0;
  // Two accounts cannot have one domain.
  const name = () => `own${(names += 1)}.${accountId.slice(-10)}.example`;
  const webhook = () => create('/v1/webhooks', { endpoint: 'https://own.example/' });
  const topic = () => create('/v1/topics', { name: 'Own', default_subscription: 'opt_in' });
  const email = () => create('/v1/emails', { from: 'a@a.example', to: 'b@b.example', subject: '', text: '' });
  const kept: { webhook?: Promise<string>; topic?: Promise<string>; email?: Promise<string> } = {};

  const makers: Readonly<Record<Noun, () => Promise<string>>> = {
    webhook,
    // Only deliveries that fail eight times would make one.
    deadLetter: async () => api.newDeadLetter(accountId, await (kept.webhook ??= webhook())),
    email: () => (kept.email ??= email()),
    domain: () => create('/v1/domains', { name: name() }),
    topic,
    suppression: () => create('/v1/suppressions', { email: `own@${name()}` }),
    async token() {
      const topicId = (await (kept.topic ??= topic())) as TopicId;
      return createUnsubscribeTokens(SECRET_KEYS).seal({ accountId, topicId, address: `own@${name()}` });
    },
  };
  return { made, idOf: (noun) => makers[noun]() };
}
