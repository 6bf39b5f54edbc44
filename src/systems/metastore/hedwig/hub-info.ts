/**
 * The text forms of hubs: address, incarnation and load. The older plain forms are still read:
 * `host:port[:sslPort]`, and a number of topics.
 */
import { checkObject, checkText, readArguments, shown } from '../../../api/index.js'
import { invalidRecord } from '../records/message-type.js'
import { fromText } from '../records/text-reader.js'
import { toText } from '../records/text-form.js'
import { hubInfoDataType, hubLoadDataType, type HubInfoData, type HubLoadData } from './records.js'

/**
 * The full form `host:port:sslPort` of a hub's address; an sslPort of -1 means none. Two addresses
 * belong to the same hub if their full forms are equal. `ERR_INVALID_ARGUMENT` for other text.
 */
export function hubAddress(text: string): string {
  checkText(text, 'the address of a hub')
  const match = /^([^\s:]+):([0-9]{1,5})(?::(-1|[0-9]{1,5}))?$/.exec(text)
  if (match === null) throw invalidRecord(`${JSON.stringify(text)} is not host:port[:sslPort]`)
  const [, host, port, sslPort = '-1'] = match
  if (Number(port) > 65_535 || Number(sslPort) > 65_535) {
    throw invalidRecord(`${JSON.stringify(text)} has a port above 65535`)
  }
  return `${host}:${Number(port)}:${Number(sslPort)}`
}

/** Copies a hub without checking its parts. `ERR_INVALID_ARGUMENT` if it is not an object. */
export function copyOfHub(hub: HubInfoData): HubInfoData {
  return readArguments(() => ({ ...checkObject(hub, 'a hub') }))
}

/** Checks a load of a hub. `ERR_INVALID_ARGUMENT` unless it is a number of topics. */
export function checkLoad(topics: number): void {
  if (Number.isSafeInteger(topics) && topics >= 0) return
  throw invalidRecord(`a load is a number of topics, not ${shown(topics)}`)
}

/** Whether two records name the same incarnation of the same hub. */
export function isSameHub(a: HubInfoData, b: HubInfoData): boolean {
  return a.hostname === b.hostname && a.czxid === b.czxid
}

/** Decodes the stored text of a hub. `ERR_INVALID_ARGUMENT` for damaged text. */
export function parseHubInfo(text: string): HubInfoData {
  checkText(text, 'a stored hub')
  if (!text.startsWith('hostname')) return { hostname: hubAddress(text), czxid: 0n }
  const info = fromText(hubInfoDataType, text)
  return { ...info, hostname: hubAddress(info.hostname) }
}

/** Encodes a hub as stored text. */
export function formatHubInfo(info: HubInfoData): string {
  const hub = copyOfHub(info)
  return toText(hubInfoDataType, { ...hub, hostname: hubAddress(hub.hostname) })
}

/** Decodes the stored text of a load. `ERR_INVALID_ARGUMENT` for damaged text. */
export function parseHubLoad(text: string): HubLoadData {
  checkText(text, 'a stored load')
  if (text.startsWith('numTopics')) return fromText(hubLoadDataType, text)
  if (!/^[0-9]{1,18}$/.test(text)) throw invalidRecord(`${JSON.stringify(text)} is no hub load`)
  return { numTopics: BigInt(text) }
}

/** Encodes a load as stored text. */
export function formatHubLoad(load: HubLoadData): string {
  return toText(hubLoadDataType, load)
}
