import type { DeliveryKey, Receipt, Rules, Violation } from './history.ts';
import type { HistoryIndex } from './index-history.ts';

/** I6: all requests of a delivery have the same id and bytes. Each has a signature of its own time. */
export function findContentFaults(index: HistoryIndex, rules: Rules): Violation[] {
  return [...index.receipts].flatMap(([key, receipts]) => {
    const read = receipts.filter((receipt) => receipt.bodySha256 !== null);
    const hashes = new Set(read.map((receipt) => receipt.bodySha256));
    return [
      ...(hashes.size > 1 ? [violation(key, `was sent with ${hashes.size} different bodies`)] : []),
      ...read.flatMap((receipt) => faultsOf(key, receipt, rules)),
    ];
  });
}

function faultsOf(key: DeliveryKey, receipt: Receipt, rules: Rules): Violation[] {
  const found: Violation[] = [];
  if (receipt.signature !== 'valid')
    found.push(violation(key, `has the signature ${String(receipt.signature)}`));
  if (receipt.bodyEventId !== receipt.eventId) {
    found.push(violation(key, `has the body of ${String(receipt.bodyEventId)}`));
  }
  const ageMs = receipt.arrivedAtMs - (receipt.signedAt ?? 0) * 1000;
  // `t` has whole seconds, rounded down.
  if (ageMs < -rules.signedWithinMs || ageMs > rules.signedWithinMs + 1000) {
    found.push(violation(key, `was signed ${Math.round(ageMs)} ms before it arrived`));
  }
  return found;
}

function violation(key: DeliveryKey, text: string): Violation {
  return { invariant: 'I6', key, text };
}
