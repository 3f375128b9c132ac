import { expect, test } from '@jest/globals';
import { sharedInboundDomains } from './inbound-domains.ts';

test('what is configured counts, an empty list too; the sandbox alone has a domain by itself', () => {
  expect(sharedInboundDomains(['in.example'], 'sandbox')).toEqual(['in.example']);
  expect(sharedInboundDomains([], 'sandbox')).toEqual([]);
  expect(sharedInboundDomains(undefined, 'sandbox')).toEqual(['inbound.postrider.example']);
  expect(sharedInboundDomains(undefined, 'ses')).toEqual([]);
});
