"""Where raw text comes from: the live machine, a recording, a tree of files, a text. Redaction happens here."""
