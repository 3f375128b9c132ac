const STATUS_LINES: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: '431 Request Header Fields Too Large',
  HPE_CHUNK_EXTENSIONS_OVERFLOW: '413 Payload Too Large',
  ERR_HTTP_REQUEST_TIMEOUT: '408 Request Timeout',
};

/** The status line for an error code of Node's HTTP parser, as Node answers it. */
export function parserStatusLine(code: string): string {
  return STATUS_LINES[code] ?? '400 Bad Request';
}
