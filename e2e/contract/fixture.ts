import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createBlobStore } from '@postrider/blobs';
import type { BlobStore } from '@postrider/blobs';
import { newApiKey, newId, SCOPES } from '@postrider/domain';
import type { AccountId, KeyKind, ProblemBases, Scope } from '@postrider/domain';
import { createRows, startFakeSes, startFaultProxy, systemClock, waitFor } from '@postrider/testing';
import type { FakeSes, SystemProcess, FaultProxy } from '@postrider/testing';
import type { SendMailOptions } from 'nodemailer';
import { sendMail } from '../send-mail.ts';
import { startSystem } from '../start-system.ts';
import type { System } from '../start-system.ts';

/** An answer as a customer sees it. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly mediaType: string;
  readonly text: string;
  /** Null: the answer is not JSON. */
  readonly json: Readonly<Record<string, unknown>> | null;
  readonly requestId: string | null;
}

export interface KeyWish {
  /** Default: the system's account. */
  readonly accountId?: string;
  readonly kind?: KeyKind;
  readonly scopes?: readonly Scope[];
  /** Default: the deployment's limit. */
  readonly limit?: number;
}

/** Real processes that use a fake Amazon SES. */
export interface ContractFixture {
  readonly system: System;
  readonly ses: FakeSes;
  /** The APIs read it. A test puts the bytes of received mail here. */
  readonly blobs: BlobStore;
  /** The SECRETS_KEY of every process. */
  readonly secretsKey: Buffer;
  /** Between Postgres and the deployment `no region`. */
  readonly proxy: FaultProxy;
  readonly newKey: (wish?: KeyWish) => Promise<string>;
  readonly newAccount: () => Promise<AccountId>;
  readonly call: (line: string, options?: CallOptions) => Promise<Answer>;
  /** Mail from outside, by SMTP. @returns the SMTP code of the answer */
  readonly receive: (mail: SendMailOptions) => Promise<number>;
  close(): Promise<void>;
}

export interface CallOptions {
  /** Unset: a key with all scopes and a limit of a million; on /v1/emails a test key. Null: no key. */
  readonly key?: string | null;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** The deployment that answers. Default: `ses`. */
  readonly deployment?: 'ses' | 'no region';
}

/** Requests per minute: more than all tests make. */
const MANY = 1_000_000;

/** The domain on which every account may have inboxes. */
export const SHARED_DOMAIN = 'in.example';

/** For every deployment. They differ from the defaults. */
export const PROBLEM_BASES: ProblemBases = {
  service: 'https://service.example/contract',
  platform: 'https://platform.example/contract',
};

export async function startContractFixture(): Promise<ContractFixture> {
  const ses = await startFakeSes();
  const folder = await mkdtemp(join(tmpdir(), 'postrider-contract-'));
  const secretsKey = randomBytes(32);
  const system = await startSystem({
    env: {
      ...ses.environment,
      MAIL_PROVIDER: 'ses',
      PROBLEMS_BASE: PROBLEM_BASES.service,
      PLATFORM_PROBLEMS_BASE: PROBLEM_BASES.platform,
      INBOUND_DOMAINS: SHARED_DOMAIN,
      BLOB_STORE: `file:${folder}`,
      SECRETS_KEY: secretsKey.toString('base64'),
    },
  });
  const proxy = await startFaultProxy(system.db.url);
  const apiAndInbound = await system.start('all', { ROLES: 'api,inbound' });
  const apis: Record<NonNullable<CallOptions['deployment']>, SystemProcess> = {
    ses: apiAndInbound,
    // It uses the stored provider. Without a region its HTTP routes for domains answer 503.
    'no region': await system.start('api', {
      MAIL_PROVIDER: '',
      AWS_REGION: '',
      DATABASE_URL: proxy.url(system.db.url),
    }),
  };
  const newKey = (wish: KeyWish = {}) => insertKey(system, wish);
  const defaultKeys = {
    mail: await newKey({ kind: 'test', limit: MANY }),
    other: await newKey({ limit: MANY }),
  };

  return {
    system,
    ses,
    proxy,
    blobs: createBlobStore(`file:${folder}`),
    secretsKey,
    newKey,
    newAccount: () => createRows(system.db).account(),
    // On a busy machine the limiter answers 429 after 250 ms. Nothing was stored, so the request is repeated.
    call: (line, options = {}) =>
      waitFor(
        async () => {
          const url = `http://127.0.0.1:${await apis[options.deployment ?? 'ses'].port('api')}`;
          const key = line.includes(' /v1/emails') ? defaultKeys.mail : defaultKeys.other;
          const answer = await ask(url, line, { key, ...options });
          return answer.text.includes('could not be counted') ? false : answer;
        },
        { what: `an answer to ${line}` },
      ),
    receive: async (mail) => codeOf(sendMail(await apiAndInbound.smtpPort(), mail)),
    async close() {
      await system.close();
      await proxy.close();
      await ses.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function ask(url: string, line: string, { key, body, headers = {} }: CallOptions): Promise<Answer> {
  const [method = '', path = ''] = line.split(' ');
  const response = await fetch(`${url}${path}`, {
    method,
    headers: { ...(typeof key === 'string' ? { authorization: `Bearer ${key}` } : {}), ...headers },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
  const answered = response.headers;
  const mediaType = answered.get('content-type') ?? '';
  const text = await response.text();
  const json = mediaType.endsWith('json') ? (JSON.parse(text) as Answer['json']) : null;
  const requestId = answered.get('x-request-id');
  return { status: response.status, headers: answered, mediaType, text, json, requestId };
}

async function codeOf(answer: Promise<string>): Promise<number> {
  try {
    return Number((await answer).slice(0, 3));
  } catch (error) {
    const { responseCode } = error as { responseCode?: number };
    if (responseCode === undefined) throw error;
    return responseCode;
  }
}

async function insertKey({ db, accountId }: System, wish: KeyWish): Promise<string> {
  const key = newApiKey(wish.kind ?? 'live');
  const id = newId('apiKey', systemClock);
  await db.query(
    `insert into api_keys (id, account_id, digest, kind, scopes, rate_limit_per_minute)
     values ($1, $2, sha256($3::text::bytea), $4::key_kind, $5, $6)`,
    [id, wish.accountId ?? accountId, key, wish.kind ?? 'live', wish.scopes ?? SCOPES, wish.limit ?? null],
  );
  return key;
}

/** A message with a new subject. */
export function message(more: object = {}): object {
  return { from: 'a@shop.example', to: 'b@b.example', subject: randomUUID(), text: 'Hi', ...more };
}

/** The body as JSON, padded with spaces to this many bytes. */
export function padded(body: object, bytes: number): string {
  return JSON.stringify(body).padEnd(bytes, ' ');
}
