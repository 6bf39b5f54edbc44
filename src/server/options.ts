/** Options of the server, their defaults and their checks. */
import { isIPv4 } from 'node:net'
import { createSecureContext } from 'node:tls'
import {
  checked,
  declareOptions,
  integer,
  list,
  required,
  invalidArgument,
  type OptionsOf,
  type SettingsOf,
} from '../api/index.js'
import { checkName, checkToken, copyPrincipal } from '../http/access.js'

const mebibyte = 1 << 20
/** The longest time limit: a day. Timers of Node end at once if they are longer than 24 days. */
const millisecondsMax = 86_400_000

const serverOptions = declareOptions('a server', {
  /**
   * Default '127.0.0.1'; 'localhost' is this too if the machine has IPv4. An address that other
   * machines reach requires a token or principals.
   */
  host: checked(checkName, '127.0.0.1'),
  /** Default 11015; 0 = a free port. */
  port: integer({ min: 0, max: 65_535, default: 11_015 }),
  /**
   * Names of the server beside addresses and `localhost`: the allowed values of the header `Host`,
   * and of `Origin` at a proxy. Default: none.
   */
  hosts: list(required(checked(checkName))),
  /**
   * The token of the administrator, at least 8 characters. Every request needs `Authorization:
   * Bearer TOKEN`, except for `/health` and public pages. Default: none; without `principals`,
   * every program of this machine is then an administrator.
   */
  token: checked(checkToken),
  /** Certificate and key in PEM: the server speaks HTTPS. Default: HTTP. */
  tls: checked(copyTls),
  /** Further users of the server, each with a token and permissions. Default: none. */
  principals: list(required(checked(copyPrincipal))),
  /** Bytes of a body as sent. Default 10 MiB. */
  requestBytesMax: integer({ min: 1, default: 10 * mebibyte }),
  /** Bytes of a body after decompression. Default 64 MiB. */
  decompressedBytesMax: integer({ min: 1, default: 64 * mebibyte }),
  /**
   * Bytes of all bodies and answers together. A byte of a body counts as three, for the text and
   * the values made of it. Above the limit, requests are refused with `ERR_SERVER_BUSY` and answers
   * wait. Default 256 MiB.
   */
  memoryBytesMax: integer({ min: 1, default: 256 * mebibyte }),
  /** Open connections; further connections are closed at once. Default 2,000. */
  connectionsMax: integer({ min: 1, default: 2000 }),
  /**
   * Milliseconds for a head, and for a TLS handshake; a body has a further second for each 16 KB.
   * Default 20 s.
   */
  bodyMilliseconds: integer({ min: 1, max: millisecondsMax, default: 20_000 }),
  /** Milliseconds after which a consumer that reads nothing is disconnected. Default 60 s. */
  stallMilliseconds: integer({ min: 1, max: millisecondsMax, default: 60_000 }),
  /** Milliseconds for the requests in progress when the server closes. Default 10 s. */
  closeMilliseconds: integer({ min: 1, max: millisecondsMax, default: 10_000 }),
})

const tlsOptions = declareOptions('tls', {
  /** The certificate of the server, and those of the issuers between it and the root. */
  certificate: required(checked(checkName)),
  /** The private key of the certificate. */
  key: required(checked(checkName)),
})

/** A certificate and its key. */
export interface TlsOptions extends OptionsOf<typeof tlsOptions> {}

function copyTls(tls: TlsOptions): TlsOptions {
  const { certificate, key } = tlsOptions.read(tls)
  try {
    createSecureContext({ cert: certificate, key })
  } catch (cause) {
    throw invalidArgument(`tls: ${(cause as Error).message}`)
  }
  return { certificate, key }
}

/** Options of {@link CellarServer}. */
export interface ServerOptions extends OptionsOf<typeof serverOptions> {}

/** The options with their defaults. */
export type ServerSettings = SettingsOf<typeof serverOptions>

/** Checks options, copies them and fills in defaults. `ERR_INVALID_ARGUMENT`. */
export function serverSettings(options: ServerOptions): ServerSettings {
  const settings = serverOptions.read(options)
  const { host, token, principals } = settings
  if (new Set(principals.map(({ name }) => name)).size < principals.length) {
    throw invalidArgument('two principals have one name')
  }
  if (token === undefined && principals.length === 0 && !isLoopback(host)) {
    const message = `other machines reach a server at ${host}: it needs a token or principals`
    throw invalidArgument(message)
  }
  return settings
}

/** Whether only programs of this machine reach an address. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIPv4(host) && host.startsWith('127.'))
}
