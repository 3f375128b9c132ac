export { issueCertificate, type Certificate, type CertificateRequest } from './certificates.ts';
export { createFile, onPath, readOrNull, replaceFile } from './files.ts';
export { freePort, portFault } from './free-port.ts';
export { startPostgres, type RunningPostgres } from './postgres.ts';
export { endProcess, isRunning, processIdentity } from './process-state.ts';
export { findRedisServer, startRedis, type RunningRedis } from './redis.ts';
