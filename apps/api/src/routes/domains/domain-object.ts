import type { Domain } from '@postrider/store';

/** What every answer says of a domain, in the shape of Resend's. What cannot be chosen here is as it is. */
export function domainObject({ id, name, status, createdAt, region }: Domain) {
  return {
    id,
    name,
    status,
    created_at: createdAt.toISOString(),
    region,
    capabilities: { sending: 'enabled', receiving: status === 'verified' ? 'enabled' : 'disabled' },
    open_tracking: false,
    click_tracking: false,
  };
}
