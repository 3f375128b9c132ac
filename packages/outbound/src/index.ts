export { createBoundedGet } from './bounded-get.ts';
export { EndpointClient } from './client.ts';
export { AddressGuard } from './guard/address-guard.ts';
export { NameResolver } from './resolve/name-resolver.ts';
