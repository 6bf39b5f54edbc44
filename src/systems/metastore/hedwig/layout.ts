/**
 * The layout record of a region: `ManagerMeta` in text form, under the key `METADATA/<region>`.
 * Source: Hedwig 4.3, `org.apache.hedwig.server.meta.FactoryLayout`.
 */
import { checkString } from '../kernel/arguments.js'
import { LayoutRecord, openLayoutTable } from '../bookkeeper/ledgers/layout-record.js'
import type { MetaStore } from '../bookkeeper/types.js'
import { unexpectedCondition } from '../errors.js'
import { decodeRecord, encodeRecord } from './record-form.js'
import { managerMetaType, type ManagerMeta } from './records.js'

/** The layout record of one region. Errors are `UNEXPECTED_CONDITION`. */
export class FactoryLayout extends LayoutRecord<ManagerMeta> {
  /** Opens the table; `store` is initialised. */
  static async open(store: MetaStore, region: string): Promise<FactoryLayout> {
    checkString(region, 'the region')
    return new FactoryLayout(await openLayoutTable(store), {
      key: `METADATA/${region}`,
      encode: (layout) => encodeRecord('text', managerMetaType, layout),
      decode: (bytes) => decodeRecord('text', managerMetaType, bytes),
      failure: unexpectedCondition,
    })
  }
}
