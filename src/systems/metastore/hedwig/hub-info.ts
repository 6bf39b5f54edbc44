/**
 * Hubs as topic ownership and the hub list name them: address, incarnation and load, with the
 * older bare text forms that are still read (`host:port[:sslPort]`, a bare number of topics).
 */
import { checkObject, readArguments, shown } from '../../../api/index.js'
import { checkString } from '../kernel/arguments.js'
import { invalidRecord } from '../records/message-type.js'
import { fromText } from '../records/text-reader.js'
import { toText } from '../records/text-form.js'
import { hubInfoDataType, hubLoadDataType, type HubInfoData, type HubLoadData } from './records.js'

/**
 * The full form `host:port:sslPort` of a hub's address; a port of -1 means none. Two addresses are
 * of one hub if their full forms are equal. `ERR_INVALID_ARGUMENT` for anything else.
 */
export function hubAddress(text: string): string {
  checkString(text, 'the address of a hub')
  const match = /^([^\s:]+):([0-9]{1,5})(?::(-1|[0-9]{1,5}))?$/.exec(text)
  if (match === null) throw invalidRecord(`${JSON.stringify(text)} is not host:port[:sslPort]`)
  const [, host, port, sslPort = '-1'] = match
  if (Number(port) > 65_535 || Number(sslPort) > 65_535) {
    throw invalidRecord(`${JSON.stringify(text)} has a port above 65535`)
  }
  return `${host}:${Number(port)}:${Number(sslPort)}`
}

/** A copy of a hub, whose parts are not checked. `ERR_INVALID_ARGUMENT` if it is no object. */
export function copyOfHub(hub: HubInfoData): HubInfoData {
  return readArguments(() => ({ ...checkObject(hub, 'a hub') }))
}

/** Checks a load of a hub. `ERR_INVALID_ARGUMENT` unless it is an integer. */
export function checkLoad(topics: number): void {
  if (Number.isSafeInteger(topics)) return
  throw invalidRecord(`a load is an integer, not ${shown(topics)}`)
}

/** Whether two records name the same incarnation of the same hub. */
export function isSameHub(a: HubInfoData, b: HubInfoData): boolean {
  return a.hostname === b.hostname && a.czxid === b.czxid
}

/** Reads a hub from its stored text. `ERR_INVALID_ARGUMENT` if it is none. */
export function parseHubInfo(text: string): HubInfoData {
  checkString(text, 'a stored hub')
  if (!text.startsWith('hostname')) return { hostname: hubAddress(text), czxid: 0n }
  const info = fromText(hubInfoDataType, text)
  return { ...info, hostname: hubAddress(info.hostname) }
}

/** The text that is stored for a hub. */
export function formatHubInfo(info: HubInfoData): string {
  const hub = copyOfHub(info)
  return toText(hubInfoDataType, { ...hub, hostname: hubAddress(hub.hostname) })
}

/** Reads a load from its stored text. `ERR_INVALID_ARGUMENT` if it is none. */
export function parseHubLoad(text: string): HubLoadData {
  checkString(text, 'a stored load')
  if (text.startsWith('numTopics')) return fromText(hubLoadDataType, text)
  if (!/^[0-9]{1,18}$/.test(text)) throw invalidRecord(`${JSON.stringify(text)} is no hub load`)
  return { numTopics: BigInt(text) }
}

/** The text that is stored for a load. */
export function formatHubLoad(load: HubLoadData): string {
  return toText(hubLoadDataType, load)
}
