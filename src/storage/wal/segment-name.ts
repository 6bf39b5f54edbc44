/** File names of log segments: the file number with at least six decimal digits, then `.log`. */

/** The file name of segment `fileNumber`, for instance `000012.log`. */
export function segmentName(fileNumber: number): string {
  return `${String(fileNumber).padStart(6, '0')}.log`
}

/** The file number in `name`, or undefined if `name` is not exactly the name of a segment. */
export function parseSegmentName(name: string): number | undefined {
  const match = /^(\d{6,16})\.log$/.exec(name)
  if (match === null) return undefined
  const fileNumber = Number(match[1])
  const exact = Number.isSafeInteger(fileNumber) && fileNumber > 0
  return exact && segmentName(fileNumber) === name ? fileNumber : undefined
}
