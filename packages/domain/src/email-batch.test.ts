import { expect, test } from '@jest/globals';
import { faultsOf, requestedBatch, requestedEmail } from './email-batch.ts';

const good = { from: 'a@example.com', to: 'b@example.net', subject: 'Hi', text: 'Hello' };

test('the faults of a batch are told at once, each under its path in the request (contract 7.1)', () => {
  const batch = [
    good,
    { ...good, to: ['b@example.net', 'x'], headers: { 'X A': '1' } },
    null,
    { ...good, to: 'x', attachments: [{ filename: 'a', content: '!' }] },
    [good],
  ];
  expect(faultsOf(requestedBatch(batch))).toEqual([
    { field: '[1].to[1]', message: 'is not a valid email address' },
    { field: '[1].headers.X A', message: 'is not a valid header name' },
    { field: '[2]', message: 'must be a JSON object' },
    { field: '[3].to', message: 'is not a valid email address' },
    { field: '[3].attachments[0].content', message: 'is not valid base64' },
    { field: '[4]', message: 'must be a JSON object' },
  ]);
});

test('those of a single message have the paths of its own fields', () => {
  expect(faultsOf([requestedEmail({ ...good, to: ['x'] })])).toEqual([
    { field: 'to[0]', message: 'is not a valid email address' },
  ]);
  expect(faultsOf([requestedEmail([good])])).toEqual([{ field: '', message: 'must be a JSON object' }]);
  expect(faultsOf([requestedEmail(good)])).toEqual([]);
});
