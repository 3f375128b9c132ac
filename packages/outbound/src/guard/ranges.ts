/** A network that deliveries must not reach, and its name for customers. */
export interface RefusedRange {
  cidr: string;
  label: string;
}

/**
 * The refused IPv4 networks:
 * - the whole IANA IPv4 Special-Purpose Address Registry of 2025-10-09. Its few globally reachable blocks
 *   host no web servers.
 * - multicast.
 * - one public address, which is a cloud's metadata service.
 */
export const REFUSED_IPV4: readonly RefusedRange[] = [
  { cidr: '0.0.0.0/8', label: 'this network' },
  { cidr: '10.0.0.0/8', label: 'private' },
  { cidr: '100.64.0.0/10', label: 'carrier-grade NAT' },
  { cidr: '127.0.0.0/8', label: 'loopback' },
  { cidr: '168.63.129.16/32', label: 'cloud metadata' },
  { cidr: '169.254.0.0/16', label: 'link-local' },
  { cidr: '172.16.0.0/12', label: 'private' },
  { cidr: '192.0.0.0/24', label: 'protocol assignments' },
  { cidr: '192.0.2.0/24', label: 'documentation' },
  { cidr: '192.31.196.0/24', label: 'AS112' },
  { cidr: '192.52.193.0/24', label: 'AMT relay' },
  { cidr: '192.88.99.0/24', label: '6to4 relay' },
  { cidr: '192.168.0.0/16', label: 'private' },
  { cidr: '192.175.48.0/24', label: 'AS112' },
  { cidr: '198.18.0.0/15', label: 'benchmarking' },
  { cidr: '198.51.100.0/24', label: 'documentation' },
  { cidr: '203.0.113.0/24', label: 'documentation' },
  { cidr: '224.0.0.0/4', label: 'multicast' },
  { cidr: '240.0.0.0/4', label: 'reserved' },
];

/** IANA assigns global unicast addresses only here. All other IPv6 addresses are refused. */
export const GLOBAL_UNICAST_IPV6 = '2000::/3';

/** The refused networks inside {@link GLOBAL_UNICAST_IPV6} (IANA IPv6 Special-Purpose Address Registry). */
export const REFUSED_IPV6: readonly RefusedRange[] = [
  { cidr: '2001::/23', label: 'protocol assignments' },
  { cidr: '2001:db8::/32', label: 'documentation' },
  { cidr: '2002::/16', label: '6to4' },
  { cidr: '2620:4f:8000::/48', label: 'AS112' },
  { cidr: '3fff::/20', label: 'documentation' },
];

/**
 * Names of networks outside {@link GLOBAL_UNICAST_IPV6}, narrower first. All are refused; the names are for
 * the message.
 */
export const NAMED_IPV6: readonly RefusedRange[] = [
  { cidr: '::/128', label: 'unspecified' },
  { cidr: '::1/128', label: 'loopback' },
  { cidr: '::/96', label: 'IPv4-compatible' },
  { cidr: '::ffff:0:0/96', label: 'IPv4-mapped' },
  { cidr: '::ffff:0:0:0/96', label: 'IPv4-translated' },
  { cidr: '64:ff9b::/96', label: 'NAT64' },
  { cidr: '64:ff9b:1::/48', label: 'NAT64' },
  { cidr: '100::/64', label: 'discard-only' },
  { cidr: '5f00::/16', label: 'segment routing' },
  { cidr: 'fc00::/7', label: 'private' },
  { cidr: 'fe80::/10', label: 'link-local' },
  { cidr: 'fec0::/10', label: 'site-local' },
  { cidr: 'ff00::/8', label: 'multicast' },
];
