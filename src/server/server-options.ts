/** Options of the server, their defaults and their checks. */
import { isIPv4 } from 'node:net'
import { checkArray, OptionNames, readArguments, shown } from '../api/index.js'
import { checkToken, copyPrincipal, type Principal } from './http/access.js'
import { invalidArgument } from './http/http-errors.js'

/** Options of {@link CellarServer}. */
export interface ServerOptions {
  /** Default '127.0.0.1'. An address that other machines reach requires a token or principals. */
  readonly host?: string | undefined
  /** Default 11015; 0 = a free port. */
  readonly port?: number | undefined
  /**
   * Names of the server beside addresses and `localhost`: the allowed values of the header `Host`,
   * and of `Origin` at a proxy. Default: none.
   */
  readonly hosts?: readonly string[] | undefined
  /**
   * The token of the administrator, at least 8 characters. Every request needs `Authorization:
   * Bearer TOKEN`, except for `/health` and public pages. Default: none; without `principals`,
   * every program of this machine is then an administrator.
   */
  readonly token?: string | undefined
  /** Further users of the server, each with a token and permissions. Default: none. */
  readonly principals?: readonly Principal[] | undefined
  /** Bytes of a body as sent. Default 10 MiB. */
  readonly requestBytesMax?: number | undefined
  /** Bytes of a body after decompression. Default 64 MiB. */
  readonly decompressedBytesMax?: number | undefined
  /**
   * Bytes of all bodies and answers together. A byte of a body counts as three, for the text and
   * the values made of it. Above the limit, requests are refused with `ERR_SERVER_BUSY` and answers
   * wait. Default 256 MiB.
   */
  readonly memoryBytesMax?: number | undefined
  /** Open connections; further connections are closed at once. Default 2,000. */
  readonly connectionsMax?: number | undefined
  /** Milliseconds for a head; a body has a further second for each 16 KB. Default 20 s. */
  readonly bodyMilliseconds?: number | undefined
  /** Milliseconds after which a consumer that reads nothing is disconnected. Default 60 s. */
  readonly stallMilliseconds?: number | undefined
  /** Milliseconds for the requests in progress when the server closes. Default 10 s. */
  readonly closeMilliseconds?: number | undefined
}

/** The options with their defaults. */
export type ServerSettings = Required<Omit<ServerOptions, 'token'>> & Pick<ServerOptions, 'token'>

const optionNames = new OptionNames<ServerOptions>('a server', {
  host: true,
  port: true,
  hosts: true,
  token: true,
  principals: true,
  requestBytesMax: true,
  decompressedBytesMax: true,
  memoryBytesMax: true,
  connectionsMax: true,
  bodyMilliseconds: true,
  stallMilliseconds: true,
  closeMilliseconds: true,
})

const mebibyte = 1 << 20
const defaults = {
  host: '127.0.0.1',
  port: 11_015,
  hosts: [],
  principals: [],
  requestBytesMax: 10 * mebibyte,
  decompressedBytesMax: 64 * mebibyte,
  memoryBytesMax: 256 * mebibyte,
  connectionsMax: 2000,
  bodyMilliseconds: 20_000,
  stallMilliseconds: 60_000,
  closeMilliseconds: 10_000,
} as const

const portMax = 65_535

/** Checks options, copies them and fills in defaults. `ERR_INVALID_ARGUMENT`. */
export function serverSettings(options: ServerOptions): ServerSettings {
  return readArguments(() => {
    const copy = optionNames.copy(options)
    const given = Object.entries(copy).filter(([, value]) => value !== undefined)
    const settings = { ...defaults, ...(Object.fromEntries(given) as ServerOptions) }
    const hosts = checkArray(settings.hosts, 'hosts')
    const principals = checkArray(settings.principals, 'principals').map(copyPrincipal)
    return checked({ ...settings, hosts, principals })
  })
}

function checked(settings: ServerSettings): ServerSettings {
  const { host, port, hosts, token, principals, ...numbers } = settings
  for (const [name, value] of Object.entries({ port, ...numbers })) {
    if (Number.isSafeInteger(value) && value >= 0 && (name === 'port' || value > 0)) continue
    throw invalidArgument(`${name} must be a whole number above 0, got ${shown(value)}`)
  }
  if (port > portMax) throw invalidArgument(`port is at most ${portMax}, got ${port}`)
  if (typeof host !== 'string' || host === '') {
    throw invalidArgument(`host must be an address or a name, got ${shown(host)}`)
  }
  if (!hosts.every(isName)) throw invalidArgument('hosts must be an array of names')
  if (new Set(principals.map(({ name }) => name)).size < principals.length) {
    throw invalidArgument('two principals have one name')
  }
  if (token !== undefined) checkToken(token, 'the token')
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

function isName(value: unknown): boolean {
  return typeof value === 'string' && value !== ''
}
