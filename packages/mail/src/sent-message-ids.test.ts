import { expect, test } from '@jest/globals';
import type { EmailId } from '@postrider/domain';
import { sentMessageIds } from './sent-message-ids.ts';

const sent = { emailId: 'em_1' as EmailId, from: 'A <a@Shop.example>', providerMessageId: 'ses-1' };

test.each([
  ['us-east-1', ['em_1@shop.example', 'ses-1@email.amazonses.com']],
  ['eu-central-1', ['em_1@shop.example', 'ses-1@eu-central-1.amazonses.com']],
  [undefined, ['em_1@shop.example']],
])('of mail through SES in %s the one that SES wrote counts, too', (region, ids) => {
  expect(sentMessageIds(sent, region)).toEqual(ids);
});

test('mail that is not sent yet, or that the sandbox took, has only our own id', () => {
  for (const providerMessageId of [null, '<em_1@shop.example>']) {
    expect(sentMessageIds({ ...sent, providerMessageId }, 'us-east-1')).toEqual(['em_1@shop.example']);
  }
});
