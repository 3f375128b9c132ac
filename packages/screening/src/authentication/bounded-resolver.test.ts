import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { startZoneServer, waitFor, type ZoneServer } from '@postrider/testing';
import { BoundedResolver, NoAnswerError, NoRecordError } from './bounded-resolver.ts';

let dns: ZoneServer;
let resolver: BoundedResolver;
beforeEach(async () => {
  dns = await startZoneServer({
    'a.example': { TXT: ['text'] },
    'silent.example': 'silence',
    'broken.example': 'servfail',
  });
  resolver = new BoundedResolver({ servers: [dns.address], timeoutMs: 20_000 });
});
afterEach(async () => {
  resolver.close();
  await dns.close();
});

test('gives records', async () => {
  expect(await resolver.limitedTo(1)('a.example', 'TXT')).toEqual([['text']]);
});

test.each(['none.example', 'a.example'])('says that there is no record: %s', async (name) => {
  await expect(resolver.limitedTo(1)(name, 'MX')).rejects.toThrow(NoRecordError);
});

test.each([
  'a.example\0.b.example',
  'a.example\\000.b.example',
  'a b.example',
  'ä.example',
  '',
  '.',
  'a..example',
  `${'a'.repeat(64)}.example`,
  `${'a.'.repeat(130)}example`,
])('asks nothing for what is no name: %j', async (name) => {
  await expect(resolver.limitedTo(1)(name, 'TXT')).rejects.toThrow(NoRecordError);
  expect(dns.questions.filter((question) => question !== ' TXT')).toEqual([]);
});

test('says that no name server answers', async () => {
  await expect(resolver.limitedTo(1)('broken.example', 'TXT')).rejects.toThrow(NoAnswerError);
});

describe('the number of questions', () => {
  test('is limited', async () => {
    const resolve = resolver.limitedTo(2);
    const answers = await Promise.allSettled(
      ['1', '2', '3', '4'].map((name) => resolve(`${name}.example`, 'TXT')),
    );
    const reasons = answers.map((answer) =>
      answer.status === 'rejected' ? (answer.reason as Error).name : 'answer',
    );
    expect(reasons).toEqual([
      'NoRecordError',
      'NoRecordError',
      'TooManyQuestionsError',
      'TooManyQuestionsError',
    ]);
    expect(new Set(dns.questions).size).toBe(2);
  });

  test('does not count a repeated query', async () => {
    await resolver.limitedTo(1)('a.example', 'TXT');
    const resolve = resolver.limitedTo(1);
    expect(await resolve('A.example', 'TXT')).toEqual([['text']]);
    await expect(resolve('none.example', 'TXT')).rejects.toThrow(NoRecordError);
    expect(dns.questions).toHaveLength(2);
  });
});

describe('the time limit', () => {
  test('ends a running query, and every later one', async () => {
    const limited = new BoundedResolver({ servers: [dns.address], timeoutMs: 100 });
    const resolve = limited.limitedTo(10);
    await expect(resolve('silent.example', 'TXT')).rejects.toThrow(NoAnswerError);
    await expect(resolve('a.example', 'TXT')).rejects.toMatchObject({ message: 'the time limit is over' });
    limited.close();
  });

  test('is over once it is closed', async () => {
    const answer = resolver.limitedTo(1)('silent.example', 'TXT');
    const failure = expect(answer).rejects.toThrow(NoAnswerError);
    await waitFor(() => dns.questions.length > 0, { what: 'the question' });
    resolver.close();
    await failure;
  });
});
