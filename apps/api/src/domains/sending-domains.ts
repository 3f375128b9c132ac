import type { AccountId, DomainId } from '@postrider/domain';
import type { DomainProvider, DomainRecord, SendingDomain } from '@postrider/mail';
import type { Domain, DomainState, DomainStore, DomainTurn, DomainTurns } from '@postrider/store';

export type DomainOutcome<Value> =
  | { readonly kind: 'ok'; readonly value: Value }
  /** No such domain in the account. */
  | { readonly kind: 'missing' }
  | { readonly kind: 'taken' }
  /** The provider's no, or its silence; or it could not be asked in time. Nothing has changed here. */
  | { readonly kind: 'refused' | 'unavailable' | 'not-asked'; readonly detail: string };

/** What changes a sending domain, here and at the provider: first there, and never with a transaction open. */
export interface SendingDomains {
  /** @param name as `parseDomainName` writes it. */
  create(accountId: AccountId, name: string): Promise<DomainOutcome<Domain>>;
  /** Asks the provider at once, and keeps what it says. */
  verify(accountId: AccountId, id: DomainId): Promise<DomainOutcome<DomainId>>;
  delete(accountId: AccountId, id: DomainId): Promise<DomainOutcome<DomainId>>;
}

export interface DomainParts {
  readonly store: DomainStore;
  readonly turns: DomainTurns;
  readonly provider: Omit<DomainProvider, 'close'>;
}

const MISSING = { kind: 'missing' } as const;
const TAKEN = { kind: 'taken' } as const;
const BUSY = {
  kind: 'not-asked',
  detail: 'other requests for this domain are still being worked on',
} as const;
const TOO_LATE = { kind: 'not-asked', detail: 'the storage took too long' } as const;

/**
 * Changes of one name take turns, so that the provider's identity is that of the account whose row is stored: of two
 * accounts the one that comes first. A crash between the two leaves an identity without a row, marked with the account
 * at the provider: its next try goes on there. A crash in a deletion leaves the row, and the next try deletes it.
 */
export function createSendingDomains(parts: DomainParts): SendingDomains {
  const { store, provider } = parts;
  return {
    async create(accountId, name) {
      // Also before the turn: nobody has to wait for it to hear that a name is taken.
      if (await store.isTaken(name)) return TAKEN;
      return inTurn(parts, name, async (turn) => add(parts, turn, accountId, name));
    },
    async verify(accountId, id) {
      const domain = await store.find(accountId, id);
      if (domain === null) return MISSING;
      const answer = await provider.get(domain.name);
      if (answer.kind !== 'ok') return answer;
      const state = stateOf(answer.value, hasOwnKeys(domain.records as SendingDomain['records']));
      return (await store.update(accountId, id, state)) ? { kind: 'ok', value: id } : MISSING;
    },
    async delete(accountId, id) {
      const domain = await store.find(accountId, id);
      if (domain === null) return MISSING;
      return inTurn(parts, domain.name, async (turn) => remove(parts, turn, accountId, domain));
    },
  };
}

async function add(
  { store, provider }: DomainParts,
  turn: DomainTurn,
  accountId: AccountId,
  name: string,
): Promise<DomainOutcome<Domain>> {
  if (await store.isTaken(name)) return TAKEN;
  if (!turn.hasTimeLeft()) return TOO_LATE;
  const answer = await provider.create({ domain: name, accountId });
  if (answer.kind !== 'ok') return answer;
  const state = stateOf(answer.value, false);
  const domain = await store.add(accountId, { name, region: provider.region, ...state });
  return domain === null ? TAKEN : { kind: 'ok', value: domain };
}

async function remove(
  { store, provider }: DomainParts,
  turn: DomainTurn,
  accountId: AccountId,
  { id, name }: Domain,
): Promise<DomainOutcome<DomainId>> {
  // Looked for again: the name may have gone, and come back as another domain, while this one waited for its turn.
  if ((await store.find(accountId, id)) === null) return MISSING;
  if (!turn.hasTimeLeft()) return TOO_LATE;
  const answer = await provider.delete(name);
  if (answer.kind !== 'ok') return answer;
  return (await store.delete(accountId, id)) ? { kind: 'ok', value: id } : MISSING;
}

async function inTurn<Value>(
  { turns }: DomainParts,
  name: string,
  work: (turn: DomainTurn) => Promise<DomainOutcome<Value>>,
): Promise<DomainOutcome<Value>> {
  const result = await turns.during(name, work);
  return result.kind === 'done' ? result.value : BUSY;
}

/**
 * SES sends for a domain as soon as it does for one above it (its guide, "Creating and verifying identities"), whoever put
 * that one there: another account, or the operator, without a row here. So that says nothing about who owns this name: its
 * own keys must be found in the DNS, unless this very account has proved that the domain above is its own; the store sees
 * to that. Keys that cannot be looked up for a while do not count, and are shown as pending, before they were found once.
 */
function stateOf({ status, records }: SendingDomain, hadOwnKeys: boolean): DomainState {
  const isUnproved = ({ record, status: found }: DomainRecord): boolean =>
    record === 'DKIM' && found === 'temporary_failure' && !hadOwnKeys;
  return {
    status,
    records: records.map((record) => (isUnproved(record) ? { ...record, status: 'pending' } : record)),
  };
}

/** Whether they are in the DNS, or were when it could last be looked up. */
function hasOwnKeys(records: SendingDomain['records']): boolean {
  const keys = records.filter(({ record }) => record === 'DKIM');
  return (
    keys.length > 0 && keys.every(({ status }) => status === 'verified' || status === 'temporary_failure')
  );
}
