/**
 * Kinds of cells, with HBase's codes. On disk: never change.
 *
 * At equal coordinates and timestamp a higher code sorts first, so that one forward pass meets a
 * delete marker before the puts that it masks.
 */
export const CellType = {
  put: 4,
  /** Masks one version of one column: timestamp equal. */
  delete: 8,
  /** Masks one version of every column of the family: timestamp equal. */
  deleteFamilyVersion: 10,
  /** Masks all versions of one column: timestamp less or equal. */
  deleteColumn: 12,
  /** Masks all versions of every column of the family: timestamp less or equal. */
  deleteFamily: 14,
} as const

/** Code of a cell's kind. */
export type CellTypeCode = (typeof CellType)[keyof typeof CellType]

/** HBase's names of the kinds, as results show them. */
export type CellTypeName =
  | 'Put'
  | 'Delete'
  | 'DeleteFamilyVersion'
  | 'DeleteColumn'
  | 'DeleteFamily'

const names: Readonly<Record<CellTypeCode, CellTypeName>> = {
  4: 'Put',
  8: 'Delete',
  10: 'DeleteFamilyVersion',
  12: 'DeleteColumn',
  14: 'DeleteFamily',
}

/** The name of a code. REQUIRES a code of {@link CellType}. */
export function cellTypeName(code: CellTypeCode): CellTypeName {
  return names[code]
}

/** The code of a name, or undefined for an unknown name. */
export function cellTypeCode(name: string): CellTypeCode | undefined {
  for (const [code, known] of Object.entries(names)) {
    if (known === name) return Number(code) as CellTypeCode
  }
  return undefined
}

/** Whether a code is one of the four delete markers. REQUIRES a code of {@link CellType}. */
export function isDeleteMarker(code: number): boolean {
  return code !== CellType.put
}

/** Whether the cell marks the version of one timestamp as deleted. */
export function isVersionMarker(code: number): boolean {
  return code === CellType.delete || code === CellType.deleteFamilyVersion
}

/** Whether a byte read from disk is a known code. */
export function isCellType(code: number): code is CellTypeCode {
  return code === 4 || code === 8 || code === 10 || code === 12 || code === 14
}
