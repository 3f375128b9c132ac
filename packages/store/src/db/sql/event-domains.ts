/**
 * An SQL condition: whether an event belongs to the domains of a webhook. Recording and every list of a
 * webhook's events use it. `is_event_of_domains` is called only for a webhook with domains.
 *
 * @param data SQL of the event's data
 * @param domains SQL of the webhook's domains: lower-case ASCII, or null for a webhook that gets every event
 */
export function isOfDomains(data: string, domains: string): string {
  return `case when ${domains} is null then true else is_event_of_domains(${data}, ${domains}) end`;
}
