/** The tag of each route by the beginning of its path. The longest beginning that fits counts. */
const BY_PATH: readonly (readonly [paths: readonly string[], name: string, description: string])[] = [
  [['/v1/emails'], 'Emails', 'Mail that the account sends.'],
  [
    ['/v1/webhooks/dead-letters'],
    'Dead letters',
    'Events that Postrider gave up delivering to a webhook, and their replay.',
  ],
  [['/v1/webhooks'], 'Webhooks', 'The addresses that events are posted to, and what became of each event.'],
  [['/v1/events'], 'Events', 'What happened to the account’s mail, whichever webhook got it.'],
  [['/v1/domains'], 'Domains', 'The domains that the account sends from.'],
  [['/v1/suppressions'], 'Suppressions', 'Addresses that get no mail from the account.'],
  [['/v1/topics'], 'Topics', 'Kinds of mail that a recipient can unsubscribe from.'],
  [['/u/'], 'Unsubscribing', 'For the recipients of mail. A token in the path takes the place of a key.'],
  [['/v1/inboxes'], 'Inboxes', 'Addresses that receive mail, their threads and replies.'],
  [
    ['/v1/inbound/messages', '/v1/emails/receiving', '/links/'],
    'Received messages',
    'Mail that the account received, and its bytes.',
  ],
  [
    ['/v1/inbound/routes'],
    'Inbound routes',
    'Rules for which webhook gets the mail that an address receives.',
  ],
  [
    ['/v1/inbound/blocked-senders'],
    'Blocked senders',
    'Addresses and domains that the account takes no mail from.',
  ],
  [['/internal/ses/'], 'Reports of SES', 'For Amazon SNS, which signs its requests.'],
];

/** The tag of what workers post to webhooks. */
export const DELIVERY_TAG = 'Deliveries';

/** Every tag, in the order in which a reader meets them. */
export const TAGS = [
  ...BY_PATH.map(([, name, description]) => ({ name, description })),
  { name: DELIVERY_TAG, description: 'What is posted to webhooks.' },
];

/** @throws Error when no tag fits: a new kind of route needs one */
export function tagOf(path: string): string {
  const fitting = BY_PATH.flatMap(([paths, name]) => paths.map((start) => ({ start, name }))).filter(
    ({ start }) => path.startsWith(start),
  );
  const [longest] = fitting.sort((one, other) => other.start.length - one.start.length);
  if (longest === undefined) throw new Error(`${path} needs a tag in BY_PATH`);
  return longest.name;
}
