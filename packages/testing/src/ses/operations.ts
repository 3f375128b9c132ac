import type { ServiceReaction } from '../fake-service.ts';
import type { FakeIdentity } from './identities.ts';
import { newIdentity } from './identities.ts';
import { sesError } from './reactions.ts';

export type SesOperation =
  | 'SendEmail'
  | 'CreateEmailIdentity'
  | 'GetEmailIdentity'
  | 'DeleteEmailIdentity'
  | 'PutEmailIdentityMailFromAttributes'
  | 'PutEmailIdentityFeedbackAttributes';

/** https://docs.aws.amazon.com/ses/latest/APIReference-V2/API_Operations.html */
const ROUTES: readonly (readonly [method: string, path: RegExp, operation: SesOperation])[] = [
  ['POST', /^\/v2\/email\/outbound-emails$/, 'SendEmail'],
  ['POST', /^\/v2\/email\/identities$/, 'CreateEmailIdentity'],
  ['GET', /^\/v2\/email\/identities\/([^/]+)$/, 'GetEmailIdentity'],
  ['DELETE', /^\/v2\/email\/identities\/([^/]+)$/, 'DeleteEmailIdentity'],
  ['PUT', /^\/v2\/email\/identities\/([^/]+)\/mail-from$/, 'PutEmailIdentityMailFromAttributes'],
  ['PUT', /^\/v2\/email\/identities\/([^/]+)\/feedback$/, 'PutEmailIdentityFeedbackAttributes'],
];

/** @returns null for an operation that this fake does not know */
export function operationOf(
  method: string,
  path: string,
): { operation: SesOperation; identity: string } | null {
  for (const [itsMethod, itsPath, operation] of ROUTES) {
    const match = itsPath.exec(path);
    if (method === itsMethod && match !== null)
      return { operation, identity: decodeURIComponent(match[1] ?? '') };
  }
  return null;
}

/** The reaction of SES itself, when nothing is scripted. */
export function perform(
  operation: SesOperation,
  identity: string,
  body: Readonly<Record<string, unknown>>,
  state: { identities: Map<string, FakeIdentity>; nextMessageId: () => string },
): ServiceReaction {
  const { identities } = state;
  const existing = identities.get(identity);
  switch (operation) {
    case 'SendEmail':
      return json({ MessageId: state.nextMessageId() });
    case 'CreateEmailIdentity': {
      const name = String(body['EmailIdentity']);
      if (identities.has(name)) {
        return sesError(400, 'AlreadyExistsException', `Email identity ${name} already exist.`);
      }
      const created = newIdentity(body['Tags'] as FakeIdentity['Tags'] | undefined);
      created.VerifiedForSendingStatus = liesUnderSendingDomain(name, identities);
      identities.set(name, created);
      const { VerifiedForSendingStatus, DkimAttributes } = created;
      return json({ IdentityType: 'DOMAIN', VerifiedForSendingStatus, DkimAttributes });
    }
    case 'GetEmailIdentity':
      return existing === undefined ? notFound(identity) : json({ IdentityType: 'DOMAIN', ...existing });
    case 'DeleteEmailIdentity':
      return identities.delete(identity) ? json({}) : notFound(identity);
    case 'PutEmailIdentityMailFromAttributes':
      if (existing === undefined) return notFound(identity);
      existing.MailFromAttributes = {
        MailFromDomain: String(body['MailFromDomain']),
        MailFromDomainStatus: 'PENDING',
        BehaviorOnMxFailure: String(body['BehaviorOnMxFailure']),
      };
      return json({});
    case 'PutEmailIdentityFeedbackAttributes':
      if (existing === undefined) return notFound(identity);
      existing.FeedbackForwardingStatus = body['EmailForwardingEnabled'] === true;
      return json({});
  }
}

/** SES sends for a domain when it sends for a parent domain, even if the domain's keys are not verified. */
function liesUnderSendingDomain(name: string, identities: ReadonlyMap<string, FakeIdentity>): boolean {
  return [...identities].some(
    ([above, identity]) => identity.VerifiedForSendingStatus && name.endsWith(`.${above}`),
  );
}

function notFound(identity: string): ServiceReaction {
  return sesError(404, 'NotFoundException', `Email identity ${identity} does not exist.`);
}

function json(value: unknown): ServiceReaction {
  return (response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify(value));
  };
}
