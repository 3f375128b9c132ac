import { afterAll, beforeAll, beforeEach, expect } from '@jest/globals';
import { publishKeys, startFakeSes, startZoneServer, waitFor } from '@postrider/testing';
import type { FakeSes, SesMessage, SystemProcess, ZoneServer } from '@postrider/testing';
import { Resend } from 'resend';
import { startSystem } from './start-system.ts';
import type { System } from './start-system.ts';

/** The base of links in the mail that the worker sends. */
const PUBLIC_URL = 'https://mail.example.com';

export const MESSAGE = {
  from: 'Shop <orders@shop.example>',
  to: ['ann@example.net'],
  subject: 'Your order',
  html: '<p>Thanks</p>',
};

/** The processes, and Resend's own SDK with nothing changed but the base address. */
export interface ResendSetup {
  readonly resend: Resend;
  readonly ses: FakeSes;
  readonly smtpPort: () => Promise<number>;
  /** A domain that the account has verified. */
  readonly verifiedDomain: (name: string) => Promise<void>;
  /** Waits until the provider has got these subjects. @returns the messages, in the same order */
  readonly messagesAtProvider: (subjects: readonly string[]) => Promise<SesMessage[]>;
}

/** Registers hooks that start the processes once, and make a new account for each test. */
export function setupResend(): ResendSetup {
  let ses: FakeSes;
  let names: ZoneServer;
  let system: System;
  let resend: Resend;
  let all: SystemProcess;

  beforeAll(async () => {
    [ses, names] = await Promise.all([startFakeSes(), startZoneServer()]);
    const options = { MAIL_PROVIDER: 'ses', KEY_RATE_LIMIT_PER_MINUTE: '10000' };
    system = await startSystem({ env: { ...ses.environment, DNS_SERVERS: names.address, ...options } });
    // The tests open the API's links, so they lead to the API. They only read the worker's.
    [all] = await Promise.all([
      system.start('all', { ROLES: 'api,inbound,relay' }),
      system.start('worker', { PUBLIC_URL }),
    ]);
  });
  afterAll(async () => {
    await system.close();
    await Promise.all([ses.close(), names.close()]);
  });
  beforeEach(async () => {
    await system.reset();
    ses.reset();
    resend = new Resend(system.apiKey, { baseUrl: `http://127.0.0.1:${await all.port('api')}/v1` });
  });

  return {
    get resend() {
      return resend;
    },
    get ses() {
      return ses;
    },
    smtpPort: () => all.smtpPort(),
    async verifiedDomain(name) {
      const { id } = await dataOf(() => resend.domains.create({ name }));
      const identity = ses.identities.get(name);
      if (identity === undefined) throw new Error('the provider was not asked');
      publishKeys(identity);
      await dataOf(() => resend.domains.verify(id));
    },
    async messagesAtProvider(subjects) {
      await ses.waitForRequests('SendEmail', subjects.length, 30_000);
      expect(ses.messages.map(({ mail }) => mail.subject).sort()).toEqual([...subjects].sort());
      return subjects.flatMap((subject) => ses.messages.filter(({ mail }) => mail.subject === subject));
    },
  };
}

type Answered<T> = { data: T; error: null } | { data: null; error: unknown };

/** Calls the SDK, again while the API answers 429. */
export async function answerOf<A extends Answered<unknown>>(call: () => Promise<A>): Promise<A> {
  return waitFor(
    async () => {
      const answer = await call();
      return (answer.error as { status?: number } | null)?.status === 429 ? false : answer;
    },
    { what: 'an answer other than 429' },
  );
}

/** The data of a call of the SDK. @throws Error when the API refuses the call */
export async function dataOf<T>(call: () => Promise<Answered<T>>): Promise<T> {
  const answer = await answerOf(call);
  if (answer.data === null) throw new Error(JSON.stringify(answer.error));
  return answer.data;
}
