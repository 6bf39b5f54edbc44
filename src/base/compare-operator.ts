/** Orders: HBase's CompareOperator, which says what an order has to be, and the search by one. */

/** HBase's CompareOperator. Checks compare `expected operator stored`, the reverse of filters. */
export type CompareOperator =
  | 'LESS'
  | 'LESS_OR_EQUAL'
  | 'EQUAL'
  | 'NOT_EQUAL'
  | 'GREATER_OR_EQUAL'
  | 'GREATER'

/** Whether a comparison holds, by its operator and an order: negative, 0 or positive. */
export const comparisons: Readonly<Record<CompareOperator, (order: number) => boolean>> = {
  LESS: (order) => order < 0,
  LESS_OR_EQUAL: (order) => order <= 0,
  EQUAL: (order) => order === 0,
  NOT_EQUAL: (order) => order !== 0,
  GREATER_OR_EQUAL: (order) => order >= 0,
  GREATER: (order) => order > 0,
}

/**
 * The first index from `start` to before `end` that `isBelow` refuses; `end` if there is none.
 * REQUIRES: the indexes that it accepts come before the others.
 */
export function lowerBound(
  start: number,
  end: number,
  isBelow: (index: number) => boolean,
): number {
  let low = start
  let high = end
  while (low < high) {
    const middle = (low + high) >>> 1
    if (isBelow(middle)) low = middle + 1
    else high = middle
  }
  return low
}
