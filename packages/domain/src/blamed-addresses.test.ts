import { describe, expect, test } from '@jest/globals';
import { blamedAddresses, addressesToSuppress } from './blamed-addresses.ts';
import { notificationDetailOf } from './event-data.ts';
import type { ProviderNotification } from './mail-outcome.ts';

function notification(
  type: ProviderNotification['type'],
  detail: Parameters<typeof notificationDetailOf>[0] = {},
): ProviderNotification {
  return { type, recipients: ['a@b.example', 'c@d.example'], detail: notificationDetailOf(detail) };
}

describe('a report blames', () => {
  test.each([
    ['email.bounced', 'bounce'],
    ['email.complained', 'complaint'],
  ] as const)('%s: everyone it names, for a %s', (type, reason) => {
    expect(blamedAddresses(notification(type))).toEqual([
      { address: 'a@b.example', reason },
      { address: 'c@d.example', reason },
    ]);
  });

  test.each([
    'email.soft_bounced',
    'email.delivered',
    'email.delivery_delayed',
    'email.rejected',
    'email.opened',
    'email.clicked',
  ] as const)('%s: nobody', (type) => {
    expect(blamedAddresses(notification(type))).toEqual([]);
  });

  test('a complaint that is taken back: nobody', () => {
    expect(blamedAddresses(notification('email.complained', { complaint_type: 'not-spam' }))).toEqual([]);
  });
});

describe('suppressed is', () => {
  const bounce = (address: string) => ({ address, reason: 'bounce' }) as const;
  const complaint = (address: string) => ({ address, reason: 'complaint' }) as const;

  test('an address once, however it is written, for a complaint if there is one', () => {
    const blamed = [bounce('Bob@Bücher.example'), complaint('bob@bücher.example')];
    const expected = [complaint('bob@xn--bcher-kva.example')];
    expect(addressesToSuppress([...blamed, bounce('bob@xn--bcher-kva.example')])).toEqual(expected);
    expect(addressesToSuppress(blamed.toReversed())).toEqual(expected);
  });

  test('what is no address to us, in lower case', () => {
    expect(addressesToSuppress([bounce('No Address@X')])).toEqual([bounce('no address@x')]);
  });

  test('no sandbox recipient, but an address of a subdomain of the sandbox', () => {
    const blamed = ['bounced@sandbox.postrider.example', 'Complained+1@SANDBOX.postrider.example'].map(
      bounce,
    );
    expect(addressesToSuppress([...blamed, bounce('a@x.sandbox.postrider.example')])).toEqual([
      bounce('a@x.sandbox.postrider.example'),
    ]);
  });
});
