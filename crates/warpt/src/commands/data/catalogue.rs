//! The data sets that recipes are made for: their files as published, and what may be done with them.

/// A data set.
#[derive(Debug, Clone, Copy)]
pub(super) struct DataSet {
    pub(super) name: &'static str,
    pub(super) what: &'static str,
    /// As SPDX names it.
    pub(super) licence: &'static str,
    /// Whether the licence allows commercial use.
    pub(super) commercial: bool,
    /// Where it is published.
    pub(super) page: &'static str,
    pub(super) files: &'static [DataFile],
}

/// A file of a data set.
#[derive(Debug, Clone, Copy)]
pub(super) struct DataFile {
    pub(super) name: &'static str,
    pub(super) bytes: Option<u64>,
    /// The SHA-256 of what is published, where it is known.
    pub(super) digest: Option<&'static str>,
}

const fn file(name: &'static str, bytes: u64, digest: Option<&'static str>) -> DataFile {
    DataFile { name, bytes: Some(bytes), digest }
}

/// All of them.
pub(super) const CATALOGUE: &[DataSet] = &[
    DataSet {
        name: "squad-v1.1",
        what: "questions about Wikipedia, for BERT",
        licence: "CC-BY-SA-4.0",
        commercial: true,
        page: "https://rajpurkar.github.io/SQuAD-explorer/",
        files: &[
            file(
                "train-v1.1.json",
                30_288_272,
                Some("3527663986b8295af4f7fcdff1ba1ff3f72d07d61a20f487cb238a6ef92fd955"),
            ),
            file(
                "dev-v1.1.json",
                4_854_279,
                Some("95aa6a52d5d6a735563366753ca50492a658031da74f301ac5238b03966972c9"),
            ),
        ],
    },
    DataSet {
        name: "coco-2017",
        what: "photographs with outlined objects, for Faster R-CNN",
        licence: "CC-BY-4.0",
        commercial: true,
        page: "https://cocodataset.org/#download",
        files: &[
            DataFile { name: "train2017.zip", bytes: None, digest: None },
            DataFile { name: "val2017.zip", bytes: None, digest: None },
            DataFile { name: "annotations_trainval2017.zip", bytes: None, digest: None },
        ],
    },
    DataSet {
        name: "dolly-15k",
        what: "instructions with answers, for Llama",
        licence: "CC-BY-SA-3.0",
        commercial: true,
        page: "https://github.com/databrickslabs/dolly",
        files: &[DataFile { name: "databricks-dolly-15k.jsonl", bytes: None, digest: None }],
    },
    DataSet {
        name: "alpaca",
        what: "instructions with answers, for Llama",
        licence: "CC-BY-NC-4.0",
        commercial: false,
        page: "https://github.com/tatsu-lab/stanford_alpaca",
        files: &[DataFile { name: "alpaca_data.json", bytes: None, digest: None }],
    },
];
