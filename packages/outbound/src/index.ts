export { createBoundedGet, createBoundedPost } from './bounded-request.ts';
export { EndpointClient, HTTP_CLIENTS } from './client.ts';
export type { HttpClient } from './client.ts';
export type { EndpointResult } from './endpoint-result.ts';
export { AddressGuard } from './guard/address-guard.ts';
export { NameResolver } from './resolve/name-resolver.ts';
