import type { AccountId, DomainId } from '@postrider/domain';
import { withCode } from '@postrider/mail';
import type { DomainFault, DomainProvider, DomainRecord, SendingDomain } from '@postrider/mail';
import type { Logger } from '@postrider/runtime';
import type {
  Domain,
  DomainClaim,
  DomainLimitReached,
  DomainLimits,
  DomainState,
  DomainStore,
  DomainTurn,
  DomainTurns,
} from '@postrider/store';
import { createAccountTurns } from '../http/account-turns.ts';

export type DomainOutcome<Value> =
  | { readonly kind: 'ok'; readonly value: Value }
  /** No such domain in the account. */
  | { readonly kind: 'missing' }
  | { readonly kind: 'taken' }
  | DomainLimitReached
  /** The provider's no, or its silence; or it could not be asked in time. Nothing has changed here. */
  | ({ readonly kind: 'refused' | 'unavailable' | 'not-asked' } & DomainFault);

/** What changes a sending domain, here and at the provider: first there, and never with a transaction open. */
export interface SendingDomains {
  /** @param name as `parseDomainName` writes it. */
  create(accountId: AccountId, name: string): Promise<DomainOutcome<Domain>>;
  /** Asks the provider at once, and keeps what it says. */
  verify(accountId: AccountId, id: DomainId): Promise<DomainOutcome<DomainId>>;
  delete(accountId: AccountId, id: DomainId): Promise<DomainOutcome<DomainId>>;
  /** Asks the provider for a domain that was never verified, and takes it from its account where the answer is no. */
  expire(claim: DomainClaim): Promise<DomainOutcome<'expired' | 'kept'>>;
  /** Deletes at the provider what an operator has released. */
  finishRelease(name: string): Promise<DomainOutcome<null>>;
}

export interface DomainParts {
  readonly store: DomainStore;
  readonly turns: DomainTurns;
  readonly provider: Omit<DomainProvider, 'close'>;
  /** Of an account that has none of its own. */
  readonly limits: DomainLimits;
  readonly logger: Pick<Logger, 'warn'>;
}

const MISSING = { kind: 'missing' } as const;
const TAKEN = { kind: 'taken' } as const;
const BUSY = {
  kind: 'not-asked',
  detail: 'other requests for this domain are still being worked on',
} as const;
const QUEUED = {
  kind: 'not-asked',
  detail: 'other requests of the account are still being worked on',
} as const;
const NOT_THERE = { kind: 'refused', detail: 'it does not have the domain' } as const;
const TOO_LATE = { kind: 'not-asked', detail: 'the storage took too long' } as const;

/** One at a time of an account: a call of another account never waits for more than that one. Their number is limited by key. */
const ACCOUNT_LIMITS = { atWorkMax: 1, waitingMax: Infinity, waitMs: 30_000, totalAtWorkMax: Infinity };

/**
 * Changes of one name take turns, so that the provider's identity is that of the account whose row is stored: of two
 * accounts the one that comes first. A crash between the two leaves an identity without a row, marked with the account
 * at the provider: its next try goes on there. A crash in a deletion leaves the row, and the next try deletes it.
 */
export function createSendingDomains(parts: DomainParts): SendingDomains {
  const { store, provider } = parts;
  const accountTurns = createAccountTurns(ACCOUNT_LIMITS);

  /** Work at the provider for an account, in its turn and in that of the name. */
  async function inTurns<Value>(
    accountId: AccountId,
    name: string,
    work: (turn: DomainTurn) => Promise<DomainOutcome<Value>>,
  ): Promise<DomainOutcome<Value>> {
    return (await accountTurns.during(accountId, async () => inTurn(parts, name, work))) ?? QUEUED;
  }

  /** The same for a customer's request. The log keeps the error code, which the customer is not shown. */
  async function requestInTurns<Value>(
    accountId: AccountId,
    name: string,
    work: (turn: DomainTurn) => Promise<DomainOutcome<Value>>,
  ): Promise<DomainOutcome<Value>> {
    const outcome = await inTurns(accountId, name, work);
    if ('code' in outcome && outcome.code !== undefined) {
      const detail = withCode(outcome.detail, outcome.code);
      parts.logger.warn('domain request failed at the provider', {
        account_id: accountId,
        domain: name,
        detail,
      });
    }
    return outcome;
  }

  return {
    async create(accountId, name) {
      // Also before the turn: nobody has to wait for it to hear that a name is taken.
      if (await store.isTaken(name)) return TAKEN;
      return requestInTurns(accountId, name, async (turn) => add(parts, turn, accountId, name));
    },
    async verify(accountId, id) {
      const domain = await store.find(accountId, id);
      if (domain === null) return MISSING;
      return requestInTurns(accountId, domain.name, async (turn) => {
        const answer = await ask(parts, turn, accountId, id);
        if (answer.kind !== 'ok') return answer;
        return answer.value === null ? NOT_THERE : { kind: 'ok', value: id };
      });
    },
    async delete(accountId, id) {
      const domain = await store.find(accountId, id);
      if (domain === null) return MISSING;
      return requestInTurns(accountId, domain.name, async (turn) => remove(parts, turn, accountId, domain));
    },
    expire: async (claim) => inTurns(claim.accountId, claim.name, async (turn) => expire(parts, turn, claim)),
    finishRelease: async (name) =>
      inTurn(parts, name, async (turn) => {
        // What another account has made since is its own: a process of the last release adds a name without this note.
        const isGone = !(await store.isReleased(name)) || (await store.isTaken(name));
        if (!turn.hasTimeLeft()) return TOO_LATE;
        const answer = isGone ? null : await provider.delete(name);
        if (answer !== null && answer.kind !== 'ok') return answer;
        await store.forgetReleased(name);
        return { kind: 'ok', value: null };
      }),
  };
}

async function add(
  { store, provider, limits }: DomainParts,
  turn: DomainTurn,
  accountId: AccountId,
  name: string,
): Promise<DomainOutcome<Domain>> {
  if (await store.isTaken(name)) return TAKEN;
  const reached = await turn.reserve(accountId, limits);
  if (reached !== null) return reached;
  if (await store.isReleased(name)) {
    if (!turn.hasTimeLeft()) return TOO_LATE;
    const gone = await provider.delete(name);
    if (gone.kind !== 'ok') return gone;
    await store.forgetReleased(name);
  }
  if (!turn.hasTimeLeft()) return TOO_LATE;
  const answer = await provider.create({ domain: name, accountId });
  if (answer.kind !== 'ok') return answer;
  const state = stateOf(answer.value, false);
  const domain = { name, region: provider.region, ...state };
  const addition = await store.add(accountId, domain, limits);
  return addition.kind === 'added' ? { kind: 'ok', value: addition.domain } : addition;
}

/** Asks the provider, keeps what follows from its answer, and gives the answer itself: null when it does not have the domain. */
async function ask(
  { store, provider }: DomainParts,
  turn: DomainTurn,
  accountId: AccountId,
  id: DomainId,
): Promise<DomainOutcome<SendingDomain | null>> {
  const domain = await store.find(accountId, id);
  if (domain === null) return MISSING;
  if (!turn.hasTimeLeft()) return TOO_LATE;
  const answer = await provider.get(domain.name);
  if (answer.kind !== 'ok' || answer.value === null) return answer;
  const state = stateOf(answer.value, hasOwnKeys(domain.records as SendingDomain['records']));
  return (await store.update(accountId, id, state)) ? answer : MISSING;
}

/** In the turn, which `verify` takes as well: nobody finds the domain verified between the provider's no and the deletion. */
async function expire(
  parts: DomainParts,
  turn: DomainTurn,
  { accountId, id }: DomainClaim,
): Promise<DomainOutcome<'expired' | 'kept'>> {
  const before = await parts.store.find(accountId, id);
  if (before === null) return MISSING;
  // A process of the last release verifies without a word of when.
  if (before.firstVerifiedAt !== null || before.status === 'verified') return { kind: 'ok', value: 'kept' };
  const answer = await ask(parts, turn, accountId, id);
  if (answer.kind !== 'ok') return answer;
  const domain = await parts.store.find(accountId, id);
  if (domain === null) return MISSING;
  if (domain.firstVerifiedAt !== null || isUnclear(answer.value)) return { kind: 'ok', value: 'kept' };
  const removed = await remove(parts, turn, accountId, domain);
  return removed.kind === 'ok' ? { kind: 'ok', value: 'expired' } : removed;
}

/** What cannot be looked up just now is neither a yes nor a no. */
function isUnclear(answer: SendingDomain | null): boolean {
  if (answer === null) return false;
  const keys = answer.records.filter(({ record }) => record === 'DKIM');
  return [answer, ...keys].some(({ status }) => status === 'temporary_failure');
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
