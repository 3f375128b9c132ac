import type { AccountId, DomainId } from '@postrider/domain';
import { withCode } from '@postrider/mail';
import type { DomainFault, DomainProvider, DomainRecord, SendingDomain } from '@postrider/mail';
import type { Logger } from '@postrider/runtime';
import type {
  ApiKey,
  Domain,
  DomainClaim,
  DomainLimitReached,
  DomainLimits,
  DomainState,
  DomainStore,
  DomainTurn,
  DomainTurns,
} from '@postrider/store';
import { AccountSlots } from '../http/account-slots.ts';
import type { Answer } from '../http/answer.ts';
import type { RouteRequest } from '../routes/route.ts';

export type DomainOutcome<Value> =
  | { readonly kind: 'ok'; readonly value: Value }
  /** The account has no such domain. */
  | { readonly kind: 'missing' }
  | { readonly kind: 'taken' }
  | DomainLimitReached
  /** The key was revoked or changed while the request waited. The provider was not asked. */
  | { readonly kind: 'key-refused'; readonly answer: Answer }
  /**
   * The provider refused, did not answer, or could not be asked in time. The domain was neither
   * added nor removed here.
   */
  | ({
      readonly kind: 'refused' | 'unavailable' | 'not-asked';
      /** The failed call was the one that deletes the domain at the provider. */
      readonly duringDeletion?: true;
    } & DomainFault);

/** A customer's request. It may wait for minutes. */
export interface DomainRequest extends Pick<RouteRequest, 'recheckKey'> {
  readonly key: Pick<ApiKey, 'accountId'>;
}

export interface DomainParts {
  readonly store: DomainStore;
  readonly turns: DomainTurns;
  readonly provider: Omit<DomainProvider, 'close'>;
  /** The limits of an account without its own. */
  readonly limits: DomainLimits;
  readonly logger: Pick<Logger, 'warn'>;
}

const MISSING = { kind: 'missing' } as const;
const TAKEN = { kind: 'taken' } as const;
const NAME_BUSY = {
  kind: 'not-asked',
  detail: 'other requests for this domain are still being worked on',
} as const;
const ACCOUNT_BUSY = {
  kind: 'not-asked',
  detail: 'other requests of the account are still being worked on',
} as const;
const NOT_THERE = { kind: 'refused', detail: 'it does not have the domain' } as const;
const TOO_LATE = { kind: 'not-asked', detail: 'the storage took too long' } as const;

/**
 * One call per account and process. So another account waits for at most one call of this account. The rate
 * limit of the API key bounds the waiting calls.
 */
const ACCOUNT_LIMITS = { inFlightMax: 1, waitingMax: Infinity, waitMs: 30_000, totalInFlightMax: Infinity };

/**
 * Changes sending domains, first at the provider and then here. No transaction is open during a provider
 * call.
 *
 * Changes to one name run in turn. So the provider's identity and the stored row belong to the same account:
 * the one that came first. After a crash between the provider's create and our insert, the provider has an
 * identity without a row. The identity names the account, so that account's next try continues. A crash
 * during a deletion leaves the row, and the next try deletes it.
 */
export class SendingDomains {
  readonly #parts: DomainParts;
  readonly #accountSlots = new AccountSlots(ACCOUNT_LIMITS, null);

  constructor(parts: DomainParts) {
    this.#parts = parts;
  }

  /** @param name in the form that `parseDomainName` returns. */
  async create(request: DomainRequest, name: string): Promise<DomainOutcome<Domain>> {
    // Check before the turn as well: a refusal need not wait.
    if (await this.#parts.store.isTaken(name)) return TAKEN;
    const { accountId } = request.key;
    return this.#requestInTurns(request, name, async (turn) => add(this.#parts, turn, accountId, name));
  }

  /** Asks the provider at once and stores its answer. */
  async verify(request: DomainRequest, id: DomainId): Promise<DomainOutcome<null>> {
    const { accountId } = request.key;
    const domain = await this.#parts.store.find(accountId, id);
    if (domain === null) return MISSING;
    return this.#requestInTurns(request, domain.name, async (turn) => {
      const answer = await ask(this.#parts, turn, accountId, id);
      if (answer.kind !== 'ok') return answer;
      return answer.value === null ? NOT_THERE : { kind: 'ok', value: null };
    });
  }

  async delete(request: DomainRequest, id: DomainId): Promise<DomainOutcome<null>> {
    const { accountId } = request.key;
    const domain = await this.#parts.store.find(accountId, id);
    if (domain === null) return MISSING;
    const work = async (turn: DomainTurn) => remove(this.#parts, turn, accountId, domain);
    return this.#requestInTurns(request, domain.name, work);
  }

  /**
   * Asks the provider about a domain that was never verified. Deletes the domain when the provider says no.
   */
  async expire(claim: DomainClaim): Promise<DomainOutcome<'expired' | 'kept'>> {
    return this.#inTurns(claim.accountId, claim.name, async (turn) => expire(this.#parts, turn, claim));
  }

  /** Deletes a name at the provider after an operator released it. */
  async finishRelease(name: string): Promise<DomainOutcome<null>> {
    const { store, provider } = this.#parts;
    return inTurn(this.#parts, name, async (turn) => {
      // Keep a name that an account has added since the operator freed it. A process of the previous release
      // adds a name without deleting its row in `released_domains`.
      const mayDelete = (await store.isReleased(name)) && !(await store.isTaken(name));
      if (!turn.hasTimeLeft()) return { ...TOO_LATE, duringDeletion: true };
      if (mayDelete) {
        const answer = await provider.delete(name);
        if (answer.kind !== 'ok') return { ...answer, duringDeletion: true };
      }
      await store.forgetReleased(name);
      return { kind: 'ok', value: null };
    });
  }

  /** Runs work at the provider when the account and the name have no other work in flight. */
  async #inTurns<Value>(
    accountId: AccountId,
    name: string,
    work: (turn: DomainTurn) => Promise<DomainOutcome<Value>>,
  ): Promise<DomainOutcome<Value>> {
    const outcome = await this.#accountSlots.run(accountId, async () => inTurn(this.#parts, name, work));
    return outcome ?? ACCOUNT_BUSY;
  }

  /**
   * Like `#inTurns`, for a customer's request. It checks the key again after the wait. The log keeps the
   * error code, which the customer is not shown.
   */
  async #requestInTurns<Value>(
    { key: { accountId }, recheckKey }: DomainRequest,
    name: string,
    work: (turn: DomainTurn) => Promise<DomainOutcome<Value>>,
  ): Promise<DomainOutcome<Value>> {
    const outcome = await this.#inTurns(accountId, name, async (turn): Promise<DomainOutcome<Value>> => {
      const answer = await recheckKey();
      return answer === null ? work(turn) : { kind: 'key-refused', answer };
    });
    if ('code' in outcome && outcome.code !== undefined) {
      const detail = withCode(outcome.detail, outcome.code);
      this.#parts.logger.warn('domain request failed at the provider', {
        account_id: accountId,
        domain: name,
        detail,
      });
    }
    return outcome;
  }
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
  const state = stateOf(answer.value, { hadOwnKeys: false });
  const domain = { name, region: provider.region, ...state };
  const addition = await store.add(accountId, domain, limits);
  return addition.kind === 'added' ? { kind: 'ok', value: addition.domain } : addition;
}

/**
 * Asks the provider, stores the resulting state and returns the answer: null when the provider lacks the
 * domain.
 */
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
  const hadOwnKeys = hasOwnKeys(domain.records as SendingDomain['records']);
  const state = stateOf(answer.value, { hadOwnKeys });
  return (await store.update(accountId, id, state)) ? answer : MISSING;
}

/** Runs in the turn that `verify` also uses. So no other call verifies the domain before its deletion. */
async function expire(
  parts: DomainParts,
  turn: DomainTurn,
  { accountId, id }: DomainClaim,
): Promise<DomainOutcome<'expired' | 'kept'>> {
  const before = await parts.store.find(accountId, id);
  if (before === null) return MISSING;
  // A process of the previous release verifies without setting `firstVerifiedAt`.
  if (before.firstVerifiedAt !== null || before.status === 'verified') return { kind: 'ok', value: 'kept' };
  const answer = await ask(parts, turn, accountId, id);
  if (answer.kind !== 'ok') return answer;
  const domain = await parts.store.find(accountId, id);
  if (domain === null) return MISSING;
  if (domain.firstVerifiedAt !== null || isUnclear(answer.value)) return { kind: 'ok', value: 'kept' };
  const removed = await remove(parts, turn, accountId, domain);
  return removed.kind === 'ok' ? { kind: 'ok', value: 'expired' } : removed;
}

/** A failed DNS lookup is neither a yes nor a no. */
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
): Promise<DomainOutcome<null>> {
  // Check again: while this call waited, the name may have been deleted and added as another domain.
  if ((await store.find(accountId, id)) === null) return MISSING;
  if (!turn.hasTimeLeft()) return { ...TOO_LATE, duringDeletion: true };
  const answer = await provider.delete(name);
  if (answer.kind !== 'ok') return { ...answer, duringDeletion: true };
  return (await store.delete(accountId, id)) ? { kind: 'ok', value: null } : MISSING;
}

async function inTurn<Value>(
  { turns }: DomainParts,
  name: string,
  work: (turn: DomainTurn) => Promise<DomainOutcome<Value>>,
): Promise<DomainOutcome<Value>> {
  const result = await turns.during(name, work);
  return result.kind === 'done' ? result.value : NAME_BUSY;
}

/**
 * SES sends for a domain as soon as it sends for a parent domain (SES guide, "Creating and verifying
 * identities"). Another account or the operator may have added that parent, so this status does not prove who
 * owns the name. `verified` therefore counts only with the domain's own keys in the DNS, or under a parent
 * that this account has verified. The store enforces this (`settleDomains`). A key with a failed first lookup
 * shows as `pending` until a lookup finds it.
 */
function stateOf(
  { status, records }: SendingDomain,
  { hadOwnKeys }: { readonly hadOwnKeys: boolean },
): DomainState {
  const isUnproved = ({ record, status: found }: DomainRecord): boolean =>
    record === 'DKIM' && found === 'temporary_failure' && !hadOwnKeys;
  return {
    status,
    records: records.map((record) => (isUnproved(record) ? { ...record, status: 'pending' } : record)),
  };
}

/** True when the DNS has the keys, or had them at the last lookup that worked. */
function hasOwnKeys(records: SendingDomain['records']): boolean {
  const keys = records.filter(({ record }) => record === 'DKIM');
  return (
    keys.length > 0 && keys.every(({ status }) => status === 'verified' || status === 'temporary_failure')
  );
}
