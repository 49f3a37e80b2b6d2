/**
 * Terms in prose that the glossary explains.
 *
 * 1. A term is a word of the glossary, or its plural; the longest one that fits is taken.
 * 2. Only the first use of a term is marked: marks on every use would hide the sentence.
 */

import { GLOSSARY, type Word } from "./glossary.ts";

/** A part of a text: a term, or what stands between two of them. */
export interface Part {
  text: string;
  word?: Word;
}

/** Further forms of a term. Some words of the glossary are terms only in other words. */
const FORMS: Partial<Record<Word, string>> = {
  log: "logs?(?!-)",
  flush: "flush(?:es|ed)?",
  merge: "merges?(?! tree)",
  move: "trivial moves?|moved",
  prefix: "prefix(?:es)?",
  sync: "syncs?|synced",
};

const WORDS = (Object.keys(GLOSSARY) as Word[]).toSorted((a, b) => b.length - a.length);
const TERMS = new RegExp(
  `\\b(?:${WORDS.map((word, i) => `(?<t${i}>${FORMS[word] ?? `${word}s?`})`).join("|")})\\b`,
  "gi",
);

/** Divides texts into parts; a term is marked where it is used first. */
export function explained(texts: readonly string[]): Part[][] {
  const known = new Set<Word>();
  return texts.map((text) => {
    const parts: Part[] = [];
    let from = 0;
    for (const { 0: term, index, groups = {} } of text.matchAll(TERMS)) {
      const word = WORDS.find((_, i) => groups[`t${i}`] !== undefined);
      if (word === undefined || known.has(word)) continue;
      known.add(word);
      if (index > from) parts.push({ text: text.slice(from, index) });
      parts.push({ text: term, word });
      from = index + term.length;
    }
    if (from < text.length) parts.push({ text: text.slice(from) });
    return parts;
  });
}
