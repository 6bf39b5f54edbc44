/** The options of a connection to HBase. */
import type { ConnectionOptions } from 'node:tls'
import { checkBoolean, shown } from '../../../base/arguments.js'
import { timerMillisecondsMax } from '../../../base/clock.js'
import { invalidArgument } from '../../../base/errors.js'
import {
  checked,
  choice,
  declareOptions,
  integer,
  list,
  required,
  text,
  type OptionsOf,
  type SettingsOf,
} from '../../../base/options.js'
import { cellBytesMaxDefault } from '../../../storage/cell/limits.js'

const portMax = 65_535
/** The port of HBase's Thrift gateways. */
const gatewayPort = 9090
const mebibyte = 1024 * 1024

const gatewayOptions = declareOptions('a gateway', {
  /** Name or address of the host. */
  host: required(text(undefined)),
  /** Port of the Thrift2 service. Default 9090. */
  port: integer({ min: 1, max: portMax, default: gatewayPort }),
})

/** Address of a Thrift2 gateway. */
export interface GatewayAddress extends OptionsOf<typeof gatewayOptions> {}

/** The address with its defaults. */
export type GatewaySettings = SettingsOf<typeof gatewayOptions>

function readGateway(gateway: GatewayAddress): GatewaySettings {
  return gatewayOptions.read(gateway)
}

function readTls(value: boolean | ConnectionOptions, name: string): ConnectionOptions | undefined {
  if (typeof value === 'object' && value !== null) return { ...value }
  if (typeof value !== 'boolean') {
    throw invalidArgument(
      `${name} must be true, false or options of tls.connect, got ${shown(value)}`,
    )
  }
  return checkBoolean(value, name, false) ? {} : undefined
}

/** The declaration of {@link HBaseOptions}. */
export const hbaseOptions = declareOptions('connectHBase', {
  /** Host of the gateway. Give `host` or `gateways`. */
  host: text(undefined),
  /** Port of the gateway. Default 9090. */
  port: integer({ min: 1, max: portMax, default: gatewayPort }),
  /**
   * Several gateways of one cluster: the first is used. When a gateway cannot be reached, the next
   * one takes over.
   */
  gateways: list(required(checked(readGateway))),
  /** Transport of the gateway: 'framed' if it was started with `-f`. Default 'buffered'. */
  transport: choice<'buffered' | 'framed'>(['buffered', 'framed'], 'buffered'),
  /** `true`, or options of Node's `tls.connect`, for a gateway with TLS. Default false. */
  tls: checked<boolean | ConnectionOptions, ConnectionOptions | undefined, undefined>(
    readTls,
    undefined,
  ),
  /** Most connections to a gateway, each with one call at a time. Default 8. */
  connectionsMax: integer({ min: 1, max: 1024, default: 8 }),
  /** Time to connect to a gateway. Default 5,000. */
  connectMilliseconds: integer({ min: 1, max: timerMillisecondsMax, default: 5_000 }),
  /** Time for the answer to one call. Default 60,000. */
  answerMilliseconds: integer({ min: 1, max: timerMillisecondsMax, default: 60_000 }),
  /** Time for a call with all its repetitions. Default 120,000. */
  deadlineMilliseconds: integer({ min: 1, max: timerMillisecondsMax, default: 120_000 }),
  /** Pause before the first repetition of a call; doubled for each further one. Default 100. */
  retryMillisecondsBase: integer({ min: 1, max: timerMillisecondsMax, default: 100 }),
  /** Longest pause between repetitions. Default 5,000. */
  retryMillisecondsMax: integer({ min: 1, max: timerMillisecondsMax, default: 5_000 }),
  /** Rows that a scan fetches in one call, unless it has `caching`. Default 1,000. */
  pageRows: integer({ min: 1, max: 1_000_000, default: 1_000 }),
  /** Longest answer. A longer one ends the call with `ERR_UNAVAILABLE`. Default 256 MiB. */
  messageBytesMax: integer({ min: 1024, max: 2 ** 31 - 1, default: 256 * mebibyte }),
  /**
   * Largest cell, as `Database.cellBytesMax`; HBase's `hbase.client.keyvalue.maxsize`. Default 10
   * MiB.
   */
  cellBytesMax: integer({ min: 1, default: cellBytesMaxDefault }),
})

/** Where HBase is, and how long calls may take. */
export interface HBaseOptions extends OptionsOf<typeof hbaseOptions> {}

/** The options with all defaults. */
export type HBaseSettings = SettingsOf<typeof hbaseOptions>

/** The addresses of the gateways. Throws `ERR_INVALID_ARGUMENT` without one. */
export function gatewaysOf({ host, port, gateways }: HBaseSettings): GatewaySettings[] {
  if (host !== undefined && gateways.length > 0) {
    throw invalidArgument('give host or gateways, not both')
  }
  if (host !== undefined) return [{ host, port }]
  if (gateways.length > 0) return [...gateways]
  throw invalidArgument("connectHBase needs { host: 'gateway.example' } or { gateways: [...] }")
}
