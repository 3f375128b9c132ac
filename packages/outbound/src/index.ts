export { createBoundedGet, createBoundedPost } from './bounded-request.ts';
export { EndpointClient, HTTP_CLIENTS } from './client.ts';
export type { HttpClient } from './client.ts';
export type { EndpointAnswer } from './endpoint-answer.ts';
export { AddressGuard } from './guard/address-guard.ts';
export { NameResolver } from './resolve/name-resolver.ts';
