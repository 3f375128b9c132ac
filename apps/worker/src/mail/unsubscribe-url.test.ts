import { describe, expect, test } from '@jest/globals';
import { createUnsubscribeTokens } from '@postrider/domain';
import type { AccountId, TopicId } from '@postrider/domain';
import { createUnsubscribeUrls } from './unsubscribe-url.ts';

const ACCOUNT = 'acct_01jd0000000000000000000001' as AccountId;
const TOPIC = 'top_01jd0000000000000000000001' as TopicId;
const PUBLIC_URL = 'https://mail.example/base';

const tokens = createUnsubscribeTokens([Buffer.alloc(32, 1)]);
const urlOf = createUnsubscribeUrls({ publicUrl: PUBLIC_URL, tokens });

function mail(
  draft: { to?: string[]; cc?: string[]; bcc?: string[]; topicId?: TopicId | null },
  suppressed: string[] = [],
) {
  return { accountId: ACCOUNT, draft: { to: [], cc: [], bcc: [], topicId: TOPIC, ...draft }, suppressed };
}

/** Reads the account, topic and address from the URL. */
function targetOf(url: string | null) {
  expect(url).toMatch(/^https:\/\/mail\.example\/base\/u\/[\w-]+$/);
  return tokens.open(url?.split('/').at(-1) ?? '');
}

describe('a message about a topic to one person', () => {
  test.each([
    ['written with a name, in any case', mail({ to: ['Bob <Bob@B.Example>'] })],
    ['in bcc', mail({ bcc: ['bob@b.example'] })],
    ['named twice', mail({ to: ['bob@b.example'], cc: ['BOB@b.example'] })],
    ['the only one not suppressed', mail({ to: ['eve@e.example', 'bob@b.example'] }, ['eve@e.example'])],
    [
      'the only one not suppressed, in another case',
      mail({ to: ['Eve <EVE@e.example>', 'bob@b.example'] }, ['eve@e.example']),
    ],
  ])('%s has a URL that names that person and the topic', (_, message) => {
    expect(targetOf(urlOf(message))).toEqual({
      accountId: ACCOUNT,
      topicId: TOPIC,
      address: 'bob@b.example',
    });
  });
});

test.each([
  ['without a topic', mail({ to: ['bob@b.example'], topicId: null })],
  ['to two people', mail({ to: ['bob@b.example'], bcc: ['eve@e.example'] })],
  ['with suppressed recipients only', mail({ to: ['bob@b.example'] }, ['bob@b.example'])],
])('a message %s has none', (_, message) => {
  expect(urlOf(message)).toBeNull();
});

test('without a public URL there is none', () => {
  const unreachable = createUnsubscribeUrls({ publicUrl: undefined, tokens });
  expect(unreachable(mail({ to: ['bob@b.example'] }))).toBeNull();
});
